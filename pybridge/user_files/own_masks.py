"""The masks of one side of a diagonal that a Python file makes (own_facts.py uses it)."""

from __future__ import annotations

import ast
import re
from typing import Any

from own_syntax import Definition, all_of, assigned, called, keyword, listed, number

ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
EMPTY = re.compile(r"numel\(|(?:==|<=) 0\b|< 1\b")
AXES = {(":", "None"): "rows", ("None", ":"): "columns", ("None",): "columns"}


def masks(nodes: list[ast.stmt]) -> dict[str, Any]:
    """The masks of some definitions: the names of those that are always made, "" for what has none."""
    parents = {id(child): node for top in nodes for node in ast.walk(top)
               for child in ast.iter_child_nodes(node)}
    heads = [top.args for top in nodes if isinstance(top, ast.FunctionDef)]
    along = {ast.unparse(t): of.pop() for t, v, _ in assigned(nodes) if len(of := axes(v, {})) == 1
             and not any(called(c).endswith("load") for c in all_of([v], ast.Call))}
    found = [(node, name) for node in all_of(nodes, ast.Compare, ast.Call, ast.Assign)
             if (name := mask(node, along)) is not None]
    tests = [n.test if isinstance(n, (ast.If, ast.IfExp)) else n.operand
             for n in all_of(nodes, ast.If, ast.IfExp, ast.UnaryOp)]
    moved = [keyword(call, "diagonal") for call in all_of(nodes, ast.Call)]
    return {
        "params": [a.arg for a in all_of(heads, ast.arg)],
        "always": [name for node, name in found if not is_given(node) and not is_chosen(node, parents)],
        "tested": [n.id for n in all_of(tests, ast.Name)], "any": any(not name for _, name in found),
        "moved": any(value and not ast.unparse(value).startswith("1") for value in moved)}


def axes(node: ast.AST, along: dict[str, str]) -> set[str]:
    """Whether an expression has numbers of rows, "i[:, None]", of columns, "j[None, :]", or both. along are
    the variables that have one of them."""
    return {axis for n in ast.walk(node) if (axis := axis_of(n) or along.get(getattr(n, "id", ""), ""))}


def axis_of(node: ast.AST) -> str:
    if isinstance(node, ast.Subscript):
        return AXES.get(tuple(map(ast.unparse, listed(node.slice)[-2:])), "")
    if not isinstance(node, ast.Call) or not node.args:
        return ""
    name, last = called(node).rpartition(".")[2], number(node.args[-1])
    if name in ("unsqueeze", "expand_dims"):
        return {1: "rows", -1: "rows", 0: "columns", -2: "columns"}.get(last, "")
    sizes = listed(node.args[0]) if len(node.args) == 1 else node.args
    if name not in ("view", "reshape") or len(sizes) < 2:
        return ""
    return "rows" if number(sizes[-1]) == 1 else "columns" if number(sizes[-2]) == 1 else ""


def mask(node: ast.AST, along: dict[str, str]) -> str | None:
    """The name of a mask that something makes: a comparison of rows with columns, a triangle of torch's, or a
    comparison that gets a name; None of others."""
    if isinstance(node, ast.Assign):
        orders = [op for c in all_of([node.value], ast.Compare) for op in c.ops if isinstance(op, ORDERS)]
        return ast.unparse(node.targets[0]) if orders else None
    if isinstance(node, ast.Call):
        triangle = re.search(r"\.(?:tril|triu)(?:_indices)?$", called(node)) or keyword(node, "is_causal")
        return "" if triangle else None
    sides = [node.left, *node.comparators]
    if isinstance(node.left, ast.BinOp) and isinstance(node.left.op, ast.Sub) and number(sides[1]) == 0:
        sides = [node.left.left, node.left.right]  # the difference of two is compared with 0
    of = [axes(side, along) for side in sides]
    across = any(isinstance(op, ORDERS) and (a | b) == {"rows", "columns"} and a and b
                 for op, a, b in zip(node.ops, of, of[1:]))
    return "" if across else None


def is_given(node: ast.AST) -> bool:
    """Whether something else than the line says whether a mask of torch's is there."""
    said = keyword(node, "is_causal") if isinstance(node, ast.Call) else None
    return said is not None and ast.unparse(said) != "True"


def is_chosen(node: ast.AST, parents: dict[int, ast.AST]) -> bool:
    """Whether a place is reached by a choice alone: below an if or beside one in its statement, or behind one
    that returns, unless that asks for empty tensors."""
    while not isinstance(node, ast.stmt):
        node = parents[id(node)]
    if not hasattr(node, "body") and any(
            isinstance(n, ast.IfExp) or getattr(n, "ifs", None) for n in ast.walk(node)):
        return True
    while not isinstance(node, Definition):
        parent = parents[id(node)]
        if isinstance(node, ast.If) or node in getattr(parent, "orelse", []):
            return True
        before = [n for n in parent.body if n.lineno < node.lineno] if node in parent.body else []
        if any(isinstance(n, ast.If) and all_of(n.body, ast.Return) and not EMPTY.search(ast.unparse(n.test))
               for n in before):
            return True
        node = parent
    return False
