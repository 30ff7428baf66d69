"""Parses a Python file of the user's, and answers questions about its expressions (own_facts.py uses it)."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterable, Iterator
from typing import Any

DTYPES = {"float64": "fp64", "double": "fp64", "float32": "fp32", "float": "fp32", "float16": "fp16",
          "half": "fp16", "bfloat16": "bf16"}
KEEPS_SHAPE = {"contiguous", "to", "float", "half", "cuda", "detach", "clone", "type_as"}
Definition = (ast.FunctionDef, ast.ClassDef)


def parsed(text: str) -> tuple[ast.Module, str]:
    """The statements of a file, and what Python's parser says of it, "" where it takes it. Lines for a
    notebook become "pass", and a definition with an error in it has its head alone: Python itself reports
    that error when the file is imported."""
    if syntax_error(text):
        text = re.sub(r"(?m)^([ \t]*)(?:%%?[A-Za-z]|![ \t]*[\w./]).*$", r"\1pass", text)
    whole, part, wrong = "", "", syntax_error(text)
    pieces = re.split(r"(?m)^(?=[^\s#)\]}])(?!(?:else|elif|except|finally)\b)", text)
    for piece in pieces if wrong else [text]:
        part += piece
        if wrong and piece.startswith("@"):  # of the definition that follows
            continue
        fits = part
        if wrong and syntax_error(part):
            head = re.match(r"(?s).*?:[ \t]*\n", part)
            fits = head[0] + " pass\n" if head and not syntax_error(head[0] + " pass\n") else ""
        whole, part = whole + fits + "\n" * (part.count("\n") - fits.count("\n")), ""
    tree = ast.parse(whole)
    return UsualNames(tree).visit(tree), wrong


def syntax_error(text: str) -> str:
    try:
        ast.parse(text)
    except SyntaxError as e:
        return f"line {e.lineno}, column {e.offset}: {e.msg}"
    return ""


USUAL = {"torch.nn": "nn", "torch.nn.functional": "F", "triton.language": "tl"}


class UsualNames(ast.NodeTransformer):
    """Gives what a file imports of torch, Triton and cuTile its usual name: torch.mm for "from torch import
    mm", cuda.tile.launch for the launch of "from cuda import tile"."""

    def __init__(self, tree: ast.Module):
        self.names: dict[str, str] = {}
        for node in all_of([tree], ast.Import, ast.ImportFrom):
            of = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for name in node.names:
                path = of + name.name
                if re.match(r"(?:torch|triton|cuda\.tile)\b", path) and (of or name.asname):
                    outer, _, last = path.rpartition(".")
                    usual = USUAL.get(path) or f"{USUAL.get(outer, outer)}.{last}".lstrip(".")
                    self.names[name.asname or name.name] = usual
        absent = {id(t) for t, value, _ in assigned([tree]) if ast.unparse(value) == "None"}  # in an except
        others = {a.arg for a in all_of([tree], ast.arg)} | {n.name for n in all_of([tree], *Definition)} | {
            n.id for n in all_of([tree], ast.Name) if not isinstance(n.ctx, ast.Load) and id(n) not in absent}
        self.names = {name: usual for name, usual in self.names.items() if name not in others}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        usual = self.names.get(node.id, node.id)
        made = ast.parse(usual, mode="eval").body if usual != node.id else node
        return ast.fix_missing_locations(ast.copy_location(made, node))


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements at the top of a file, those below its conditions among them. What may not run gives
    definitions alone."""
    for node in body:
        word = ast.unparse(node.test) if isinstance(node, ast.If) else ""
        if isinstance(node, ast.With):
            yield from statements(node.body)
        elif isinstance(node, ast.Try):
            yield from statements(node.body + node.orelse)
            yield from definitions([s for handler in node.handlers for s in handler.body],
                                   imported(node.body))
        elif word and "__name__" not in word:
            holds, word = not word.startswith("not "), word.removeprefix("not ")
            first, second = (node.body, node.orelse) if holds != (word in ("False", "0")) else (
                node.orelse, node.body)
            if re.search("triton|cuda|gpu|^(?:True|False|[01])$", word, re.I):
                yield from statements(first)
            else:
                found = list(definitions(first))
                names = {d.name for d in found}
                yield from [*found, *(d for d in definitions(second) if d.name not in names)]
        else:
            yield node


def definitions(body: list[ast.stmt], names: set[str] | None = None) -> Iterator[ast.stmt]:
    return (node for node in statements(body) if isinstance(node, Definition)
            and (names is None or node.name in names))


def imported(body: list[ast.stmt]) -> set[str]:
    return {name.asname or name.name for node in all_of(body, ast.Import, ast.ImportFrom)
            for name in node.names}


def named(top: list[ast.stmt]) -> Iterator[tuple[ast.FunctionDef, ast.expr]]:
    """A function for each name that is assigned something to call: a lambda's or another name's, and one
    without parameters where only running the file shows what it takes, "add = compiled(f)"."""
    known = {node.name: node for node in top if isinstance(node, Definition)}
    for target, value, node in assigned(n for n in top if isinstance(n, (ast.Assign, ast.AnnAssign))):
        made = ast.copy_location(ast.parse("def f(): pass").body[0], node)
        if isinstance(value, ast.Lambda):
            made.args, made.body = value.args, [ast.copy_location(ast.Return(value.body), node)]
        elif isinstance(value, ast.Name):
            made = copy.copy(known.get(value.id))
        elif not isinstance(value, ast.Call) or not makes_function(value, known):
            continue
        if isinstance(target, ast.Name) and isinstance(made, ast.FunctionDef):
            made.name = target.id
            known[target.id] = made
            yield made, value


def makes_function(call: ast.Call, known: dict[str, ast.stmt]) -> bool:
    """Whether a call may give something to call: of a class, of functions, or without arguments."""
    made = known.get(ast.unparse(call.func))
    return isinstance(made, ast.ClassDef) or made is not None and not call.args or any(
        isinstance(n, ast.Lambda) or isinstance(n, ast.Name) and n.id in known for n in call.args)


class Source:
    """The text of a file, with what stands below such a condition at its left."""

    def __init__(self, text: str, tree: ast.Module):
        self.lines = text.split("\n")
        self.top = list(statements(tree.body))
        self.named = list(named(self.top))
        direct = {id(node) for node in tree.body}
        self.starts = sorted(first_line(node) for node in [*self.top, *tree.body])
        self.plain = list(self.lines)
        for node in self.top:
            if id(node) not in direct:
                for i in range(first_line(node) - 1, node.end_lineno or node.lineno):
                    line = self.lines[i]
                    self.plain[i] = line[min(node.col_offset, len(line) - len(line.lstrip())):]

    def block(self, node: ast.stmt) -> str:
        """The text of a definition up to what follows it, without its decorators."""
        end = next((n - 1 for n in self.starts if n > node.lineno), len(self.plain))
        return "\n".join(self.plain[node.lineno - 1:end]) + "\n"

    def span(self, first: ast.AST, last: ast.AST) -> str:
        """The text from the beginning of a node to the end of another, in one line."""
        lines = [line.encode() for line in self.lines[first.lineno - 1:last.end_lineno]]
        lines[-1] = lines[-1][:last.end_col_offset]
        lines[0] = lines[0][first.col_offset:]
        return " ".join(b"\n".join(lines).decode().split())


def first_line(node: ast.stmt) -> int:
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])


# ---- looking at expressions


def place(node: ast.AST) -> tuple[int, int]:
    return (node.lineno, node.col_offset)


def all_of(nodes: Iterable[ast.AST], *kinds: type) -> list[Any]:
    """What is of some kinds in trees, in the order of the text."""
    return sorted((n for node in nodes for n in ast.walk(node) if isinstance(n, kinds)), key=place)


def is_name(node: ast.AST | None, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def called(node: ast.AST) -> str:
    """What a call calls, "torch.empty"; "" of what is no call."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def launched(call: ast.Call) -> str:
    """The kernel that a call launches, "kernel[grid](x)" or "cuda.tile.launch(stream, grid, kernel, ..."."""
    of = called(call) == "cuda.tile.launch" and call.args[2:3]
    kernel = call.func.value if isinstance(call.func, ast.Subscript) else of[0] if of else None
    return ast.unparse(kernel).rpartition(".")[2] if kernel else ""


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((k.value for k in call.keywords if k.arg == name), None)


def assigned(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.expr, ast.expr, ast.stmt]]:
    """Each assignment as target, value and statement."""
    for node in all_of(nodes, ast.Assign, ast.AnnAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if node.value is not None:
                yield target, node.value, node


def listed(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, (ast.Tuple, ast.List)) else [node]


def stores_name(node: ast.AST, name: str) -> bool:
    return any(is_name(n, name) and not isinstance(n.ctx, ast.Load) for n in ast.walk(node))


def number(node: ast.AST | None) -> int | None:
    """A number that is written out."""
    try:
        value = ast.literal_eval(node) if node else None
    except ValueError:
        return None
    return value if type(value) is int else None


def original(node: ast.expr) -> ast.expr:
    """What something of the same sizes is made of, the x of "x.contiguous()"."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and \
            node.func.attr in KEEPS_SHAPE:
        node = node.func.value
    return node


def kept(node: ast.expr) -> str:
    """The name of a tensor of which something of the same sizes is made; "" for others."""
    of = original(node)
    return of.id if of is not node and isinstance(of, ast.Name) else ""


def dtype_of(node: ast.expr | None, of: str = "torch") -> str:
    """Our name of the type that an expression names, "torch.float16"; "" of other expressions."""
    found = re.fullmatch(rf"(?:{of})\.(\w+)", ast.unparse(node)) if node else None
    return DTYPES.get(found[1], "") if found else ""


def arguments(args: ast.arguments) -> list[tuple[ast.arg, ast.expr | None]]:
    """The parameters of a function with their defaults, without those that take any number of arguments."""
    plain = args.posonlyargs + args.args
    defaults = [None] * (len(plain) - len(args.defaults)) + args.defaults
    return list(zip(plain + args.kwonlyargs, defaults + args.kw_defaults))


def same(words: Iterable[str]) -> str:
    """The word that all words are; "" where there is none, or another."""
    words = set(words)
    return words.pop() if len(words) == 1 else ""
