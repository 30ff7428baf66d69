"""Says as JSON what Python files define. Their texts come on standard input; nothing of them runs.

internal/ownfile/pyparser starts this program with the standard library alone, and internal/ownfile/pyfacts
describes what it prints.
"""

from __future__ import annotations

import ast
import json
import re
import resource
import select
import sys
from collections.abc import Iterator
from typing import Any

from own_inline import inline_sources
from own_masks import masks
from own_returns import data_names, given, has_backward
from own_syntax import (
    Source,
    all_of,
    arguments,
    assigned,
    called,
    is_name,
    keyword,
    launched,
    original,
    parsed,
    same,
)
from own_uses import Uses, asked_dtypes, by_program, is_kernel, loaded_types, pointers, stored_types, widens

IDLE_S = 2.0
MOST_MEMORY = 2 << 30


def parameters(source: Source, node: ast.FunctionDef, skip: int = 0) -> list[dict[str, Any]]:
    """The parameters of a function, without the first ones."""
    return [{"name": arg.arg, "text": source.span(arg, default or arg), "optional": default is not None,
             "annotation": source.span(arg.annotation, arg.annotation) if arg.annotation else "",
             "default": ast.unparse(default) if default else "", "byName": arg in node.args.kwonlyargs}
            for arg, default in arguments(node.args)[skip:]]


def method(source: Source, node: ast.ClassDef, name: str) -> tuple[ast.FunctionDef, list[dict]] | None:
    """A method of a class with its parameters, without self, cls and ctx."""
    for found in node.body:
        if isinstance(found, ast.FunctionDef) and found.name == name:
            names = [a.arg for a, _ in arguments(found.args)]
            return found, parameters(source, found, 2 if names[0:1] == ["cls"] and len(names) > 1 else 1)
    return None


def code(node: ast.stmt) -> str:
    """The text of a definition without its decorators, each statement in a line."""
    text = ast.unparse(node)
    return text[re.search(r"(?m)^(?:def|class) ", text).start():] + "\n"


def head(node: ast.FunctionDef) -> str:
    """The decorators and parameters of a function, and the names that the parts of a parameter get."""
    names = [a.arg for a, _ in arguments(node.args)]
    parts = [ast.unparse(t) for t, v, _ in assigned([node]) if isinstance(v, ast.Name) and v.id in names]
    return "\n".join([*("@" + ast.unparse(d) for d in node.decorator_list),
                      f"def {node.name}({', '.join([*names, *parts])}):"])


def unpacked(nodes: list[ast.AST]) -> list[dict[str, Any]]:
    """The names that the sizes of tensors are unpacked into, "M, N = x.shape". After "x = x.transpose(1, 2)"
    the second and third change places: they are then in the order that the caller's tensor has."""
    found, turned = [], set()
    for t, v, _ in assigned(nodes):
        if isinstance(t, ast.Name) and ast.unparse(v) == t.id + ".transpose(1, 2)":
            turned ^= {t.id}
        elif ((m := re.fullmatch(r"(\w+)\.(?:shape|size\(\))", ast.unparse(v)))
              and isinstance(t, ast.Tuple) and all(isinstance(n, ast.Name) for n in t.elts)):
            names = [n.id for n in t.elts]
            if m[1] in turned:
                names[1:3] = names[2:0:-1]
            found.append({"of": m[1], "names": names})
    return found


def weights(node: ast.ClassDef, init: list[dict]) -> Iterator[str]:
    """The paths of the parameters that a module makes, and of those of its layers."""
    made = [(t.attr, original(v)) for t, v, _ in assigned([node])
            if isinstance(t, ast.Attribute) and is_name(t.value, "self") and isinstance(v, ast.Call)]
    yield from (name for name, call in made if re.fullmatch(r"(?:torch\.)?(?:nn\.)?Parameter", called(call)))
    for name, call in made:
        if kind := re.fullmatch(r"(?:torch\.)?nn\.(LayerNorm|RMSNorm|Linear|Conv1d)", called(call)):
            yield name + ".weight"
            said = keyword(call, "bias")
            word = ast.unparse(said) if said else ""
            if kind[1] != "RMSNorm" and "False" not in [
                    word, *(p["default"] for p in init if p["name"] == word)]:
                yield name + ".bias"


class File:
    """What a file defines, in the order in which it is looked at."""

    def __init__(self, text: str):
        self.tree, self.syntax = parsed(text)
        self.source = Source(text, self.tree)
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
                node.body[0] = ast.copy_location(ast.Pass(), node.body[0])
                node.body = node.body[1:] or node.body
        self.top = self.source.top
        self.kernels = {n.name: n for n in self.top if isinstance(n, ast.FunctionDef) and is_kernel(n)}
        self.taken = {name: ([a.arg for a, _ in arguments(k.args)], pointers(k))
                      for name, k in self.kernels.items()}
        self.cast = [ast.unparse(c.func.value) for c in all_of([self.tree], ast.Call)
                     if called(c).endswith(".to") and c.args and called(c.args[0]).endswith("pointer_type")]
        self.loads = {ast.unparse(c.args[0]).split(" ")[0] for c in all_of([self.tree], ast.Call)
                      if called(c) == "tl.load" and c.args}
        if not any(called(c) == "tl.store" for c in all_of([self.tree], ast.Call)):
            self.loads = set()
        self.defined = {n.name for n in all_of([self.tree], ast.FunctionDef, ast.ClassDef)} | {
            t.id for n in self.top if isinstance(n, (ast.Assign, ast.AnnAssign))
            for t in all_of([n], ast.Name) if isinstance(t.ctx, ast.Store)}
        self.functions: list[dict[str, Any]] = []
        self.read()

    def read(self) -> None:
        for node in self.top:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not is_kernel(node):
                self.add(node, "", node.name, parameters(self.source, node))
        for node, value in self.source.named:
            self.add(node, "", node.name, parameters(self.source, node))
            stands = ast.unparse(value)
            self.functions[-1].update(standsFor=stands, signature=f"{node.name} = {stands}")
        for node in self.top:
            if isinstance(node, ast.ClassDef):
                self.read_class(node)
        for node in self.top:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                if of := next((f for f in self.functions if f["form"] == "applied"
                               and f["name"] + ".apply" == ast.unparse(node.value)), None):
                    name = node.targets[0].id
                    self.functions.append({**of, "name": name, "call": name, "line": node.lineno,
                                           "signature": f"{name} = {of['signature']}"})
        for f in self.functions:
            f["autograd"] = f["backward"] or any(
                o["backward"] and o["name"] != f["name"] and o["call"] in f["calls"] for o in self.functions)
        by_call = {f["call"]: f for f in self.functions}
        for f in self.functions:
            if of := by_call.get(f.get("returned")):  # it returns what that one returns
                f.update({fact: of[fact] for fact in ("tuple", "masks", "kernelMasks") if fact in of},
                         kernels=f["kernels"] + of["code"] + of["kernels"])
        launched_names = {name for f in self.functions for name in f["launches"]}
        for name, node in self.kernels.items():
            if any(called(c) == "tl.store" for c in all_of([node], ast.Call)):
                self.add(node, "kernel", name, self.kernel_parameters(node))
                self.functions[-1]["launched"] = name in launched_names

    def read_class(self, node: ast.ClassDef) -> None:
        bases = " ".join(ast.unparse(b) for b in node.bases)
        module = re.search(r"\bModule\b", bases) is not None
        if not module and re.search(r"\bFunction\b", bases):
            if found := method(self.source, node, "forward"):
                self.add(node, "applied", node.name + ".apply", found[1], found[0])
            return
        own = any(re.fullmatch(r"torch\.(?:ones|zeros|randn?|empty|full|tensor|eye)", called(v))
                  and re.fullmatch(r"self\.\w+", ast.unparse(t)) for t, v, _ in assigned([node]))
        for name in ["forward"] if module else [] if own else ["__call__", "forward"]:
            if found := method(self.source, node, name):
                params = [{**p, "place": "call"} for p in found[1]]
                init = [{**p, "place": "init"}
                        for p in (method(self.source, node, "__init__") or (None, []))[1]]
                paths = [{"name": path.rpartition(".")[2], "text": path.rpartition(".")[2], "path": path,
                          "place": "weight"} for path in weights(node, init)]
                unique: dict[str, dict] = {}
                for p in [*params, *paths, *init]:
                    unique.setdefault(p["name"], p)
                self.add(node, "module", node.name, list(unique.values()), found[0])
                return

    def kernel_parameters(self, node: ast.FunctionDef) -> list[dict[str, Any]]:
        found, rows = pointers(node), by_program(node)
        tuned = {k.value for d in all_of(node.decorator_list, ast.Dict) for k in d.keys
                 if isinstance(k, ast.Constant)}
        return [{**p, "tensor": p["name"] in found, "written": found.get(p["name"], False),
                 "tuned": p["name"] in tuned,
                 "byProgram": p["name"] in rows}
                for p in parameters(self.source, node)]

    def closure(self, node: ast.AST) -> list[ast.FunctionDef]:
        """The kernels that something launches, and those that these call."""
        launches = {launched(c) for c in all_of([node], ast.Call)}
        known = {n: k for n, k in self.kernels.items() if n in launches}
        all_known = dict(known)
        while known:
            calls = {called(c).rpartition(".")[2] for c in all_of(known.values(), ast.Call)}
            known = {n: k for n, k in self.kernels.items() if n in calls and n not in all_known}
            all_known.update(known)
        return list(all_known.values())

    def add(self, node: ast.stmt, form: str, call: str, params: list[dict[str, Any]],
            forward: ast.FunctionDef | None = None) -> None:
        asking: list[ast.AST] = list((forward if form == "applied" else node).body)
        uses = Uses(node, asking, self.taken)
        kernels = self.closure(node)
        calls = [called(c) for c in all_of([node], ast.Call)]
        data, names = "", []
        if node.name == "custom_kernel" and params:
            data = params[0]["name"]
            names = data_names(node, data)
            form, params = "packed", [{"name": n, "text": n} for n in names or [data]]
        words = {"applied": call, "module": f"class {node.name}, {forward.name if forward else ''}",
                 "kernel": f"@triton.jit def {node.name}"}.get(form, f"def {node.name}")
        taken = ", ".join(p["text"] for p in params if p.get("place", "call") == "call")
        body = forward if form == "applied" else node
        self.functions.append({
            "name": node.name, "form": form, "call": call, "line": node.lineno,
            "signature": f"def custom_kernel({data}), which holds {taken}" if data
            else f"{words}({taken})",
            "defaults": node.name + ".forward" if form == "applied" else "",
            "text": self.source.block(node), "code": code(node),
            "asking": "\n".join(map(ast.unparse, asking)),
            "kernels": "".join(map(code, kernels)),
            "calls": sorted({c[i:] for c in calls for i in [0, *(m.end() for m in re.finditer(r"\.", c))]}),
            "unpacked": unpacked([node]), "usesFile": bool(self.defined & {
                n.id for n in all_of(node.body, ast.Name) if n.id != node.name}),
            "strings": [c.value for c in all_of([node, *kernels], ast.Constant)
                        if isinstance(c.value, str) and c.value.isidentifier()],
            "numbers": [{"name": n, "value": v} for n, v in self.numbers([node, *kernels])],
            "added": [str(v.value) for n in all_of([node, *kernels], ast.BinOp, ast.AugAssign)
                      if isinstance(n.op, ast.Add)
                      and isinstance(v := n.right if isinstance(n, ast.BinOp) else n.value, ast.Constant)],
            "masks": masks([node]), "kernelMasks": masks(kernels),
            "launches": [name for c in all_of([node], ast.Call) if (name := launched(c)) in self.kernels],
            "backward": form == "applied" and has_backward(node),
            "packs": bool(names),
            "stores": same(stored_types(kernels)), "loads": same(loaded_types(kernels)),
            "like": [m[1] or m[2] for _, v, _ in assigned(asking) if (m := re.match(
                r"torch\.(?:empty|zeros|ones)(?:_like\((\w+)\b|\((\w+)\.(?:shape|size\(\))[,)])",
                ast.unparse(v)))],
            **(given(body, [p["name"] for p in params]) if isinstance(body, ast.FunctionDef) else {}),
            "params": [{**p, **(used := uses.of(p["name"])), **self.of_file(p["name"], used["reread"]),
                        **({"tensor": p["tensor"]} if form == "kernel" else {})}
                       for p in params]})

    def numbers(self, nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
        """What is given a number in some definitions, and at the top of the file where they use it."""
        used = {n.id for n in all_of(nodes, ast.Name)}
        outside = [n for n in self.top if isinstance(n, (ast.Assign, ast.AnnAssign))]
        pairs = [(ast.unparse(t), v) for t, v, _ in assigned(nodes)]
        pairs += [(name, v) for t, v, _ in assigned(outside) if (name := ast.unparse(t)) in used]
        pairs += [(c.arg, c.value) for c in all_of(nodes, ast.keyword) if c.arg]
        pairs += [(a.arg, d) for n in all_of(nodes, ast.FunctionDef) for a, d in arguments(n.args) if d]
        return ((name, str(v.value)) for name, v in pairs
                if isinstance(v, ast.Constant) and type(v.value) in (int, float))

    def of_file(self, name: str, reread: bool) -> dict[str, bool]:
        return {"address": bool(self.cast) and (name.endswith("_ptr") or name in self.cast),
                "reread": reread or any(re.match(rf"{name.lower()}(?:_|$)", word) for word in self.loads)}


def facts(text: str) -> dict[str, Any]:
    try:
        file = File(text)
        return {"functions": file.functions, "dtypes": asked_dtypes(file.tree),
                "unpacked": [u for f in all_of([file.tree], ast.FunctionDef) for u in unpacked([f])],
                "text": "\n".join(file.source.plain),
                "syntax": file.syntax, "widens": widens(file.kernels.values()),
                "inMain": [n.id for block in file.tree.body if isinstance(block, ast.If)
                           and "__name__" in ast.unparse(block.test)
                           for n in all_of([block], ast.Name) if isinstance(n.ctx, ast.Store)],
                "heads": [{"name": n.name, "line": n.lineno, "end": n.end_lineno, "text": head(n)}
                          for n in all_of([file.tree], ast.FunctionDef)],
                "guards": {s.lineno: f"if {ast.unparse(n.test)}" if isinstance(n, ast.If)
                           else type(n).__name__.lower() for n in ast.walk(file.tree)
                           for s in ast.iter_child_nodes(n) if isinstance(s, ast.Raise)},
                **inline_sources(file.tree, text)}
    except Exception as e:  # whatever a strange file raises here must not end the process
        return {"error": f"{type(e).__name__}: {e}"}


def main() -> None:
    """Answers each text, which comes behind a line with its length, with a line, until no more come."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    while select.select([sys.stdin], [], [], IDLE_S)[0] and (length := sys.stdin.buffer.readline()):
        text = sys.stdin.buffer.read(int(length)).decode(errors="replace")
        print(json.dumps(facts(text.removeprefix("\ufeff").replace("\0", " "))), flush=True)
