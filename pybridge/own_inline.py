"""The CUDA that a Python file hands to torch.utils.cpp_extension.load_inline (own_facts.py uses it)."""

from __future__ import annotations

import ast
import re
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
    values: dict[str, ast.expr] = {}
    for target, value, _ in assigned([tree]):
        values.setdefault(ast.unparse(target), value)
    sources, within = [], set()
    for parent in ast.walk(tree):
        for node in ast.iter_child_nodes(parent):
            if isinstance(parent, ast.JoinedStr):
                within.add(id(node))
            if isinstance(node, (ast.Constant, ast.JoinedStr)) and isinstance(parent, AROUND) \
                    and id(node) not in within:
                source = {"line": node.lineno, "made": ""}
                try:
                    source["text"] = string(node, text, values)
                    if parent_makes := made_by(parent, node):
                        raise Made(parent_makes)
                except Made as e:
                    source = {**source, "text": ast.unparse(node), "made": str(e)}
                if CODE.search(source["text"]):
                    sources.append(source)
    named = [values.get(ast.unparse(given), given) for call in calls if (given := keyword(call, "functions"))]
    lists = [node.keys if isinstance(node, ast.Dict) else [node] for node in named]
    names = [c.value for c in all_of([n for nodes in lists for n in nodes if n], ast.Constant)]
    return {"inline": sorted(sources, key=lambda s: s["line"]),
            "bound": [n for n in names if isinstance(n, str) and n.isidentifier()]}


def made_by(parent: ast.AST, node: ast.expr) -> str:
    if isinstance(parent, ast.Attribute) and parent.attr in ("format", "replace"):
        return f".{parent.attr}("
    is_filled = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mod) and parent.left is node
    return "%" if is_filled else ""


def string(node: ast.expr, text: str, values: dict[str, ast.expr]) -> str:
    """The text of a string, with the fields of an f-string filled in. The end of a line that a backslash
    hides stays, for C++ hides it too and lines keep their numbers."""
    written = ast.get_source_segment(text, node) or ""
    if "r" not in written[:2].lower().partition('"')[0].partition("'")[0]:
        written = re.sub(r"(?s)\\(.)", lambda m: "\\\\\\n" if m[1] == "\n" else m[0], written)
    again = ast.parse(f"({written})", mode="eval").body
    parts = again.values if isinstance(again, ast.JoinedStr) else [again]
    return "".join(str(p.value) if isinstance(p, ast.Constant) else field(p, values) for p in parts)


def field(node: ast.FormattedValue, values: dict[str, ast.expr]) -> str:
    """The number or the word that the file gives the name in a field of an f-string."""
    value = values.get(ast.unparse(node.value))
    word = str(value.value) if isinstance(value, ast.Constant) else ast.unparse(value) if value else ""
    if node.format_spec or not re.fullmatch(r"[-+.\w]+", word) or isinstance(value, ast.Name):
        raise Made("{" + ast.unparse(node.value) + "}")
    return word
