"""What a function of a Python file returns, and what custom_kernel(data) takes (own_facts.py uses it)."""

from __future__ import annotations

import ast
import re
from typing import Any

from own_syntax import assigned, called, dtype_of, is_name, kept, keyword, listed, number, place, same

SAME = {"to", "view", "reshape", "squeeze", "contiguous", "float", "int"}
CREATES = r"torch\.(?:empty|zeros|ones|full)\w*"


def own_nodes(node: ast.FunctionDef) -> list[ast.AST]:
    """The nodes of a function without those of the functions within it."""
    found: list[ast.AST] = []
    todo = list(node.body)
    while todo:
        found.append(at := todo.pop())
        if not isinstance(at, (ast.FunctionDef, ast.ClassDef)):
            todo.extend(ast.iter_child_nodes(at))
    return sorted((n for n in found if hasattr(n, "lineno")), key=place)


def given(node: ast.FunctionDef, taken: list[str]) -> dict[str, Any]:
    """What a function returns: the first name of all returns, the names of tuples, the dtype in which it
    makes that, and which parameters it gives back."""
    nodes = own_nodes(node)
    values = [n.value for n in nodes if isinstance(n, ast.Return)]
    lists = [listed(v) if v else [] for v in values]
    firsts = [ast.unparse(v[0]) if v else "" for v in lists]
    made: dict[str, list[ast.Call]] = {}
    for n in nodes:
        if isinstance(n, (ast.Assign, ast.AnnAssign)) and n.value:
            for target in n.targets if isinstance(n, ast.Assign) else [n.target]:
                made.setdefault(ast.unparse(target), []).append(n.value)
    extents = {name: extent(values, len(values) + sum(
        isinstance(n, ast.AugAssign) and ast.unparse(n.target) == name for n in nodes))
        for name, values in made.items()}
    first = same(firsts)
    dtypes = [dtype_of(keyword(v, "dtype")) if re.fullmatch(CREATES, called(v)) else ""
              for v in made.get(first, [])]
    back = [n.id for n in lists[0] if isinstance(n, ast.Name)] if lists else []
    whole = lists and all([ast.unparse(n) for n in v] == back for v in lists) and not any(
        any(is_name(n, name) and isinstance(n.ctx, ast.Store) for n in ast.walk(t)) and kept(v) != name
        for t, v, _ in assigned([node]) for name in back)
    tuples = [[plain(n) for n in v.elts] if isinstance(v, ast.Tuple) else [] for v in values]
    return {
        "result": first if re.fullmatch(r"\w+", first) else "",
        "made": extents, "extremes": [extreme(n) for n in nodes if isinstance(n, ast.Call)
                                      and re.search(r"\.(?:amax|amin|max|min|aminmax)$", called(n))],
        "gives": any(v and ast.unparse(v) != "None" for v in values) or any(
            isinstance(n, (ast.Yield, ast.YieldFrom)) for n in nodes),
        "returns": len(values), "madeAs": same(dtypes), "returned": same(map(called, values)),
        "makesResult": bool(firsts) and all(
            name not in taken and any(re.fullmatch(CREATES, called(v)) for v in made.get(name, []))
            for name in firsts),
        "givesBack": back if whole and set(back) <= set(taken) else [],
        "tuple": tuples[0] if tuples and len(tuples[0]) > 1 and all(t == tuples[0] for t in tuples) else []}


def extent(values: list[ast.expr], times: int) -> dict[str, Any]:
    """With how many elements a tensor is made, like which other, and how often its name is given a value."""
    makes = [v for v in values if re.fullmatch(r"torch\.(?:empty|zeros|ones)|\w+\.new_(?:empty|zeros|ones)",
                                               called(v))]
    many = len(makes) == 1 and any(re.search(r"[a-zA-Z]", ast.unparse(a)) for a in makes[0].args)
    like = [ast.unparse(v.args[0]) for v in values if called(v) in ("torch.empty_like", "torch.zeros_like")]
    return {"many": many, "one": len(makes) == 1 and not many, "like": like[0] if like else "",
            "times": times}


def extreme(call: ast.Call) -> str:
    """The arguments of a largest or smallest element, without the tensor and the one that it is put into."""
    args = call.args[1 if called(call).startswith("torch.") else 0:]
    named = [f"{k.arg}={ast.unparse(k.value)}" for k in call.keywords if k.arg not in ("out", "input")]
    return ", ".join([*map(ast.unparse, args), *named])


def plain(node: ast.expr) -> str:
    """The name of a value of which a part, a number more, another shape or another dtype is taken; "" for
    others."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)) and (
            number(node.right) is not None):
        node = node.left
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SAME:
            node = node.func.value
        else:
            return node.id if isinstance(node, ast.Name) else ""


def has_backward(node: ast.ClassDef) -> bool:
    """Whether an autograd function has a backward that does something."""
    for found in node.body:
        if isinstance(found, ast.FunctionDef) and found.name in ("backward", "vjp"):
            return not re.match(r"raise NotImplementedError|pass$|\.\.\.$", ast.unparse(found.body[0]))
    return False


def data_names(node: ast.FunctionDef, data: str) -> list[str]:
    """What custom_kernel(data) unpacks its tuple into; nothing where it does not."""
    whole = [target for target, value, _ in assigned([node]) if is_name(value, data)]
    parts = listed(whole[0]) if whole else []
    names = [n.id for n in parts if isinstance(n, ast.Name)]
    return names if len(names) == len(parts) else []
