"""Says as JSON what a Python file defines. The text comes on standard input; nothing of it runs.

internal/ownfile/pyparser starts this program with the standard library alone, and internal/ownfile/pyfacts
describes what it prints.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from typing import Any

from own_inline import inline_sources
from own_returns import Data, given, has_backward
from own_syntax import (
    Definition,
    Source,
    all_of,
    arguments,
    assignments,
    called,
    dtype_of,
    is_name,
    keyword,
    launched,
    parsed,
    same,
)
from own_uses import Uses, is_kernel, loaded_types, pointers, stored_types


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


def weights(node: ast.ClassDef, init: list[dict]) -> Iterator[str]:
    """The paths of the parameters that a module makes, and of those of its layers."""
    made = [(t.attr, v) for t, v, _ in assignments([node])
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


def asked_dtypes(tree: ast.Module) -> list[str]:
    """The dtypes that a file asks for: pointers that are cast to one, asserts, and what raises for others."""
    asked: list[ast.expr] = []
    for node in all_of([tree], ast.Call, ast.Assert, ast.If):
        if isinstance(node, ast.Call) and called(node).endswith("pointer_type"):
            asked += node.args[:1]
        elif isinstance(node, ast.Assert):
            asked += dtype_tests(node.test, ast.Eq, ast.In)
        elif isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise):
            parts = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
            tests = [dtype_tests(part, ast.NotEq, ast.NotIn) for part in parts]
            asked += [side for test in tests for side in test] if all(tests) else []
    named = [dtype_of(n, "torch|tl") for n in all_of(asked, ast.Attribute)]
    return list(dict.fromkeys(d for d in named if d))


def dtype_tests(test: ast.expr, *kinds: type) -> list[ast.expr]:
    """What a dtype is compared with in a condition."""
    return [right for c in all_of([test], ast.Compare) for op, right in zip(c.ops, c.comparators)
            if isinstance(op, kinds) and isinstance(c.left, ast.Attribute) and c.left.attr == "dtype"]


class File:
    """What a file defines, in the order in which it is looked at."""

    def __init__(self, text: str):
        self.tree = parsed(text)
        self.source = Source(text, self.tree)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
                node.body[0] = ast.copy_location(ast.Pass(), node.body[0])
                node.body = node.body[1:] or node.body
        self.top = self.source.top
        self.kernels = {n.name: n for n in self.top if isinstance(n, ast.FunctionDef) and is_kernel(n)}
        self.cast = [ast.unparse(c.func.value) for c in all_of([self.tree], ast.Call)
                     if called(c).endswith(".to") and c.args and called(c.args[0]).endswith("pointer_type")]
        self.loads = {ast.unparse(c.args[0]).split(" ")[0] for c in all_of([self.tree], ast.Call)
                      if called(c) == "tl.load" and c.args}
        if not any(called(c) == "tl.store" for c in all_of([self.tree], ast.Call)):
            self.loads = set()
        self.functions: list[dict[str, Any]] = []
        self.read()

    def read(self) -> None:
        for node in self.top:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not is_kernel(node):
                self.add(node, "plain", node.name, parameters(self.source, node))
        for node in self.top:
            if isinstance(node, ast.ClassDef):
                self.read_class(node)
        for node in self.top:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                of = next((f for f in self.functions if f["form"] == "applied"
                           and f["name"] + ".apply" == ast.unparse(node.value)), None)
                if of:
                    name = node.targets[0].id
                    self.functions.append({**of, "name": name, "call": name, "line": node.lineno,
                                           "signature": f"{name} = {of['signature']}"})
        for f in self.functions:
            f["autograd"] = f["backward"] or any(
                o["backward"] and o["name"] != f["name"] and o["call"] in f["calls"] for o in self.functions)
        launched_names = {name for f in self.functions for name in f["launches"]}
        for name, node in self.kernels.items():
            if name not in launched_names and any(called(c) == "tl.store" for c in all_of([node], ast.Call)):
                self.add(node, "kernel", name, self.kernel_parameters(node))

    def read_class(self, node: ast.ClassDef) -> None:
        bases = " ".join(ast.unparse(b) for b in node.bases)
        module = re.search(r"\bModule\b", bases) is not None
        if not module and re.search(r"\bFunction\b", bases):
            if found := method(self.source, node, "forward"):
                self.add(node, "applied", node.name + ".apply", found[1], found[0])
            return
        own = any(re.fullmatch(r"torch\.(?:ones|zeros|randn?|empty|full|tensor|eye)", called(v))
                  and re.fullmatch(r"self\.\w+", ast.unparse(t)) for t, v, _ in assignments([node]))
        for name in ["forward"] if module else [] if own else ["__call__", "forward"]:
            if found := method(self.source, node, name):
                params = [{**p, "place": "call"} for p in found[1]]
                made = method(self.source, node, "__init__")
                init = [{**p, "place": "init"} for p in made[1]] if made else []
                paths = [{"name": path.rpartition(".")[2], "text": path.rpartition(".")[2], "path": path,
                          "place": "weight"} for path in weights(node, init)]
                unique = {p["name"]: p for p in reversed([*params, *paths, *init])}
                self.add(node, "module", node.name, [p for p in [*params, *paths, *init] if unique[
                    p["name"]] is p], found[0])
                return

    def kernel_parameters(self, node: ast.FunctionDef) -> list[dict[str, Any]]:
        found = pointers(node)
        return [{**p, "tensor": p["name"] in found, "written": found.get(p["name"], False)}
                for p in parameters(self.source, node)]

    def closure(self, node: ast.AST) -> list[ast.FunctionDef]:
        """The kernels that something launches, and those that these call."""
        known = {n: k for n, k in self.kernels.items()
                 if n in {launched(c) for c in all_of([node], ast.Call)}}
        all_known = dict(known)
        while known:
            calls = {called(c).rpartition(".")[2] for c in all_of(known.values(), ast.Call)}
            known = {n: k for n, k in self.kernels.items() if n in calls and n not in all_known}
            all_known.update(known)
        return list(all_known.values())

    def add(self, node: Definition, form: str, call: str, params: list[dict[str, Any]],
            forward: ast.FunctionDef | None = None) -> None:
        asking: list[ast.AST] = list((forward if form == "applied" else node).body)
        uses = Uses(node, asking, self.kernels)
        kernels = self.closure(node)
        calls = [called(c) for c in all_of([node], ast.Call)]
        data = Data(node, params[0]["name"]) if node.name == "custom_kernel" and params else None
        if data:
            form, params = "packed", [{"name": n, "text": n} for n in data.names]
        words = {"applied": call, "module": f"class {node.name}, {forward.name if forward else ''}",
                 "kernel": f"@triton.jit def {node.name}"}.get(form, f"def {node.name}")
        taken = ", ".join(p["text"] for p in params if p.get("place", "call") == "call")
        body = forward if form == "applied" else node
        self.functions.append({
            "name": node.name, "form": form, "call": call, "line": node.lineno,
            "signature": f"def custom_kernel({data.node.args.args[0].arg}), which holds {taken}" if data
            else f"{words}({taken})",
            "defaults": node.name + ".forward" if form == "applied" else "",
            "text": self.source.block(node), "code": code(node),
            "asking": "\n".join(map(ast.unparse, asking)),
            "own": re.sub(r"(?m)^( +)def .*\n(?:\1 .*\n|\n)*", "", code(body)),
            "kernels": "".join(map(code, kernels)),
            "gridWords": self.words_above(node) if form == "kernel" else "",
            "calls": sorted({c[i:] for c in calls for i in [0, *(m.end() for m in re.finditer(r"\.", c))]}),
            "launches": [launched(c) for c in uses.launches],
            "backward": form == "applied" and has_backward(node),
            "packs": bool(data and data.packs), "nested": data.nested if data else [],
            "stores": same(stored_types(kernels)), "loads": same(loaded_types(kernels)),
            "onlyKernel": self.kernel_parameters(kernels[0]) if len(kernels) == 1 else [],
            "like": [m[1] or m[2] for _, v, _ in assignments(asking) if (m := re.match(
                r"torch\.(?:empty|zeros|ones)(?:_like\((\w+)\b|\((\w+)\.(?:shape|size\(\))[,)])",
                ast.unparse(v)))],
            **(given(body, [p["name"] for p in params]) if isinstance(body, ast.FunctionDef) else {}),
            "params": [{**p, **uses.of(p["name"]), **self.of_file(p["name"]), **(
                {"tensor": p["tensor"]} if form == "kernel" else {})} for p in params]})

    def of_file(self, name: str) -> dict[str, bool]:
        return {"address": bool(self.cast) and (name.endswith("_ptr") or name in self.cast),
                "reloaded": any(w == name.lower() or w.startswith(name.lower() + "_") for w in self.loads)}

    def words_above(self, node: ast.FunctionDef) -> str:
        """The comments and decorators above a kernel; all that stands there where the file has no other."""
        lines = self.source.plain[:node.lineno - 1]
        first = len(lines) if len(self.kernels) > 1 else 0
        while first > 0 and (not lines[first - 1] or lines[first - 1][0] in "#@ )]"):
            first -= 1
        while len(self.kernels) > 1 and first < len(lines) and not lines[first].startswith(("#", "@")):
            first += 1
        return "\n".join(lines[first:])


def main() -> None:
    text = sys.stdin.buffer.read().decode(errors="replace").removeprefix("\ufeff").replace("\0", " ")
    try:
        file = File(text)
        found = {"functions": file.functions, "dtypes": asked_dtypes(file.tree),
                 "text": "\n".join(file.source.plain), **inline_sources(file.tree, text)}
    except (RecursionError, MemoryError, ValueError) as e:
        found = {"error": f"{type(e).__name__}: {e}"}
    json.dump(found, sys.stdout)
