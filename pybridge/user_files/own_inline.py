"""The CUDA that a Python file hands to torch.utils.cpp_extension.load_inline (own_facts.py uses it)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from own_syntax import all_of, assigned, called, keyword

CODE = re.compile(r"\b__(?:global|device)__|\b(?:torch|at)::Tensor\b|PYBIND11_MODULE|"
                  r"(?m:^\s*#\s*(?:include|define)\b)")
AROUND = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Call, ast.keyword, ast.List, ast.Tuple, ast.BinOp,
          ast.Attribute)


class Made(Exception):
    """A string is made while the file runs, by what the message says."""


def inline_sources(tree: ast.Module, text: str) -> dict[str, Any]:
    """The strings of C++ and CUDA with the lines that they begin in, and the names of functions=."""
    calls = all_of([tree], ast.Call)
    if not any(called(call).endswith("load_inline") for call in calls):
        return {}
    strings = Strings(tree, text)
    values = {ast.unparse(target): value for target, value, _ in assigned([tree])}
    named = [values.get(ast.unparse(given), given) for call in calls if (given := keyword(call, "functions"))]
    lists = [node.keys if isinstance(node, ast.Dict) else [node] for node in named]
    names = [c.value for c in all_of([n for nodes in lists for n in nodes if n], ast.Constant)]
    return {"inline": sorted(strings.sources(), key=lambda s: s["line"]),
            "bound": [n for n in names if isinstance(n, str) and n.isidentifier()]}


class Strings:
    """The strings of a file, with what its lines make of them."""

    def __init__(self, tree: ast.Module, text: str):
        self.lines = [line.encode() for line in re.split(r"\r\n|\r|\n", text)]
        self.parents = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self.tree = tree
        self.loads: dict[str, list[ast.Name]] = {}
        for node in all_of([tree], ast.Name):
            if isinstance(node.ctx, ast.Load):
                self.loads.setdefault(node.id, []).append(node)

    def sources(self) -> Iterator[dict[str, Any]]:
        for node in all_of([self.tree], ast.Constant, ast.JoinedStr):
            parent = self.parents.get(id(node))
            if not isinstance(parent, AROUND) or type(getattr(node, "value", "")) is not str:
                continue
            source = {"line": node.lineno, "made": ""}
            try:
                source["text"] = self.text(node)
                for use in [node, *self.uses(node)]:
                    self.check(use)
            except Made as e:
                source = {**source, "text": ast.unparse(node), "made": str(e)}
            if CODE.search(source["text"]):
                yield source

    def text(self, node: ast.expr) -> str:
        """The text of a string. The end of a line that a backslash hides stays, for C++ hides it too and
        lines keep their numbers."""
        lines = self.lines[node.lineno - 1:node.end_lineno]
        lines[-1] = lines[-1][:node.end_col_offset]
        lines[0] = lines[0][node.col_offset:]
        written = b"\n".join(lines).decode()
        if "r" not in written[:2].lower().partition('"')[0].partition("'")[0]:
            written = re.sub(r"(?s)\\(.)", lambda m: "\\\\\\n" if m[1] == "\n" else m[0], written)
        again = ast.parse(f"({written})", mode="eval").body
        parts = again.values if isinstance(again, ast.JoinedStr) else [again]
        if made := [p.value for p in parts if isinstance(p, ast.FormattedValue)]:
            raise Made("{" + ast.unparse(made[0]) + "}")
        return "".join(str(p.value) for p in parts)

    def uses(self, node: ast.expr) -> list[ast.Name]:
        """Where the names stand that are assigned a string."""
        while isinstance(self.parents[id(node)], ast.BinOp):
            node = self.parents[id(node)]
        statement = self.parents[id(node)]
        if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
            return []
        return [use for target, _, _ in assigned([statement])
                for use in self.loads.get(ast.unparse(target), [])]

    def check(self, node: ast.expr) -> None:
        """Fails where the lines make another string of one."""
        while True:
            parent = self.parents[id(node)]
            if isinstance(parent, ast.Attribute) and parent.attr in ("format", "replace", "substitute"):
                raise Made(f".{parent.attr}(")
            if not isinstance(parent, ast.BinOp):
                return
            other = parent.right if parent.left is node else parent.left
            if isinstance(parent.op, ast.Mod) and parent.left is node:
                raise Made("%")
            if isinstance(parent.op, ast.Add) and isinstance(other, (ast.Call, ast.Subscript)):
                raise Made("+ " + ast.unparse(other))
            node = parent
