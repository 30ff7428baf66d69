"""What a function of a Python file and its Triton kernels do with parameters (own_facts.py uses it)."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from own_syntax import (
    Definition,
    all_of,
    arguments,
    assignments,
    called,
    dtype_of,
    is_name,
    kept,
    keyword,
    launched,
    listed,
    number,
    place,
    stores_name,
)

TELLS_NO_SIZE = {"stride", "contiguous", "is_contiguous", "is_cuda", "device", "dtype", "element_size",
                 "data_ptr", "requires_grad", "cuda", "to", "detach", "float", "half"}
RESHAPES = set("shape size stride view reshape flatten squeeze unsqueeze transpose permute ndim dim T mT t"
               .split())


def is_kernel(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(d) for d in node.decorator_list)


def leftmost(node: ast.AST) -> str:
    """The name that an expression begins with."""
    while isinstance(node, ast.BinOp):
        node = node.left
    return node.id if isinstance(node, ast.Name) else ""


def offset_from(node: ast.AST) -> str:
    """The name that something is added to first, "x_ptr + row * stride"."""
    while isinstance(node, ast.BinOp) and isinstance(node.left, ast.BinOp):
        node = node.left
    return leftmost(node) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) else ""


def pointed(call: ast.Call) -> str:
    """The name that a load, a store or a block of a kernel begins with."""
    first = call.args[0] if call.args else keyword(call, "base")
    return leftmost(first) if first else ""


def pointers(kernel: ast.FunctionDef) -> dict[str, bool]:
    """The parameters of a kernel that are pointers, and whether it writes there."""
    stands, used, written = {}, set(), set()
    for target, value, _ in assignments([kernel]):
        block = pointed(value) if called(value).endswith("make_block_ptr") else ""
        used.add(offset_from(value))
        if isinstance(target, ast.Name) and (block or offset_from(value)) not in ("", target.id):
            stands[target.id] = block or offset_from(value)
    for node in all_of([kernel], ast.AugAssign, ast.Expr):
        used.add(leftmost(node.target) if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add)
                 else offset_from(node.value))
    below = {leftmost(right) for node in all_of([kernel], ast.Compare)
             for op, right in zip(node.ops, node.comparators) if isinstance(op, ast.Lt)}
    used -= below
    for call in all_of([kernel], ast.Call):
        name, of = called(call).rpartition(".")[2], pointed(call)
        if name in ("load", "make_block_ptr") or name.startswith("atomic_"):
            used.add(of)
        if name == "store" or name.startswith("atomic_"):
            while of and of not in written:
                written.add(of)
                of = stands.get(of, "")
    names = {a.arg for a, _ in arguments(kernel.args)
             if "stride" not in a.arg.lower() and "constexpr" not in ast.unparse(a)}
    return {name: name in written for name in (used | written) & names}


def converted(node: ast.expr) -> str:
    """The type of 16 bits that an expression converts to last; "" for none."""
    if not isinstance(node, ast.Call) or not called(node).endswith(".to"):
        return ""
    dtype = dtype_of(node.args[0] if node.args else keyword(node, "dtype"), "tl")
    return dtype if dtype in ("fp16", "bf16") else ""


def stored_types(kernels: list[ast.FunctionDef]) -> Iterator[str]:
    """The types of 16 bits to which kernels convert what they store, "" where they do not."""
    for kernel in kernels:
        for body in (b for n in ast.walk(kernel) for b in (getattr(n, "body", []), getattr(n, "orelse", []))):
            for i, node in enumerate(body if isinstance(body, list) else []):
                if isinstance(node, ast.Expr) and called(node.value).endswith("tl.store"):
                    call = node.value
                    value = call.args[1] if len(call.args) > 1 else keyword(call, "value")
                    name = value.id if isinstance(value, ast.Name) else ""
                    before = [n for n in body[:i] if stores_name(n, name)]
                    if before and isinstance(before[-1], ast.Assign) and is_name(before[-1].targets[0], name):
                        value = before[-1].value
                    yield converted(value) if value else ""


def loaded_types(kernels: list[ast.FunctionDef]) -> Iterator[str]:
    """The same of what the kernels of a product load, at once or in the next statement."""
    loads = [c for c in all_of(kernels, ast.Call) if called(c) == "tl.load"]
    found = {}
    for body in (n.body for k in kernels for n in ast.walk(k) if hasattr(n, "body")):
        for node, after in zip(body, [*body[1:], None]) if isinstance(body, list) else ():
            if not isinstance(node, ast.Assign):
                continue
            value = node.value
            if value in loads and isinstance(after, ast.Assign) and isinstance(node.targets[0], ast.Name) \
                    and kept(after.value) == node.targets[0].id == ast.unparse(after.targets[0]):
                found[id(value)] = converted(after.value)
            elif converted(value) and value.func.value in loads:
                found[id(value.func.value)] = converted(value)
    if any(called(c) == "tl.dot" for c in all_of(kernels, ast.Call)):
        yield from (found.get(id(load), "") for load in loads)


class Uses:
    """What the statements of a definition do with the tensors that it takes. asking are the nodes in which it
    may ask them for their sizes: of an autograd function those of its forward."""

    def __init__(self, node: Definition, asking: list[ast.AST], kernels: dict[str, ast.FunctionDef]):
        self.node, self.asking, self.kernels = node, asking, kernels
        self.parents = {id(child): parent for n in ast.walk(node) for child in ast.iter_child_nodes(n)
                        for parent in [n]}
        self.assigned = list(assignments([node]))
        self.launches = [c for c in all_of([node], ast.Call) if launched(c) in kernels]

    def of(self, name: str) -> dict[str, Any]:
        return {**self.asks(name), **self.ranks(name), **self.in_launches(name),
                "rewritten": self.rewritten(name), "squared": self.squared(name)}

    def asks(self, name: str) -> dict[str, Any]:
        """Whether a tensor is asked for its sizes, whether a launch gets it, and which calls it goes to."""
        asks, used, handed = False, False, []
        for use in [n for n in all_of(self.asking, ast.Name) if is_name(n, name)]:
            parent = self.parents.get(id(use))
            call = self.parents.get(id(parent)) if isinstance(parent, ast.keyword) else parent
            if not isinstance(use.ctx, ast.Load) or \
                    isinstance(parent, ast.Attribute) and parent.attr in TELLS_NO_SIZE:
                continue
            if isinstance(parent, ast.Subscript) and parent.value is use and cuts_bounded(parent.slice):
                used = True
            elif not isinstance(call, ast.Call) or use is call.func:
                asks = True
            elif isinstance(call.func, ast.Subscript) or called(call).endswith("save_for_backward"):
                used = True
            else:
                at = call.args.index(use) if use in call.args else -1
                handed.append({"call": called(call), "index": at,
                               "name": parent.arg or "" if call is not parent else ""})
        return {"asks": asks, "used": used, "handed": handed}

    def ranks(self, name: str) -> dict[str, int]:
        """How many sizes the statements say that a tensor has, up to one that gives its name to another
        tensor: 0 for nothing, -1 for two things. reach is how many it has at least."""
        end = min((place(s) for t, v, s in self.assigned if is_name(t, name) and not kept(v)),
                  default=(sys.maxsize, 0))
        nodes = [n for n in all_of([self.node], ast.expr, ast.stmt) if place(n) < end]
        said = {len(t.elts) for t, v, s in self.assigned
                if isinstance(t, (ast.Tuple, ast.List)) and len(t.elts) > 1 and place(s) < end
                and ast.unparse(v) in (f"{name}.shape", f"{name}.size()")}
        compared = [n for n in nodes if isinstance(n, ast.Compare)]
        for node in nodes:
            if isinstance(node, ast.Assert):
                said |= ranks_of(name, node.test, ast.Eq)
            elif isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise) and not any(
                    isinstance(n, (ast.And, ast.Not)) for n in ast.walk(node.test)):
                said |= ranks_of(name, node.test, ast.NotEq)
            elif isinstance(node, ast.Call) and (
                    called(node) in (f"{name}.mm", f"{name}.t") or called(node) == "torch.mm" and node.args
                    and re.match(rf"{name}\b", ast.unparse(node.args[0]))):
                said.add(2)
        sizes = [(n.attr, self.asked_size(n)) for n in nodes
                 if isinstance(n, ast.Attribute) and is_name(n.value, name)]
        inner = [c for c in compared for right in c.comparators if len(c.comparators) == 1
                 and re.fullmatch(rf"{name}\.(?:shape\[1\]|size\(1\))", ast.unparse(c.left))
                 and re.fullmatch(r"\w+\.(?:shape\[0\]|size\(0\))", ast.unparse(right))]
        if not said and inner:
            said = {2}
        others = [a for a, n in sizes if n is None and a in RESHAPES] + [
            n for n in nodes if isinstance(n, ast.Subscript) and is_name(n.value, name)]
        strides = {n for a, n in sizes if a == "stride"}
        places = {n for _, n in sizes if n is not None}
        if not said and not others and places and strides == places == set(range(len(places))):
            said = {len(places)}
        asks = any(a in ("ndim", "dim") for a, _ in sizes) or any(
            ast.unparse(n) == f"len({name}.shape)" for n in nodes if isinstance(n, ast.Call))
        return {"rank": -1 if len(said) > 1 else sum(said),
                "reach": 0 if asks else max((n + 1 for n in places), default=0)}

    def asked_size(self, node: ast.Attribute) -> int | None:
        """The number of the size or the stride that is asked for, "x.shape[0]", "x.stride(0)"."""
        parent = self.parents.get(id(node))
        if node.attr == "shape" and isinstance(parent, ast.Subscript):
            asked = number(parent.slice)
        elif node.attr in ("size", "stride") and isinstance(parent, ast.Call) and len(parent.args) == 1:
            asked = number(parent.args[0])
        else:
            return None
        return asked if asked is not None and asked >= 0 else None

    def in_launches(self, name: str) -> dict[str, Any]:
        """What the kernels that get a variable call it, and whether one of them takes it for a pointer."""
        names, tensor = [], False
        for call in self.launches:
            kernel = self.kernels[launched(call)]
            known = [a.arg for a, _ in arguments(kernel.args)]
            for word, value in [*zip(known, call.args), *((k.arg, k.value) for k in call.keywords)]:
                if is_name(value, name) and word in known:
                    names.append(word)
                    tensor = tensor or word in pointers(kernel)
        return {"called": names, "tensor": tensor}

    def rewritten(self, name: str) -> bool:
        """Whether the new values of a tensor are made of those that are there: "C[:] = a @ b + C"."""
        def reads(nodes: Iterable[ast.AST]) -> bool:
            return any(is_name(n, name) for node in nodes for n in ast.walk(node))

        def element(node: ast.expr) -> bool:
            return isinstance(node, ast.Subscript) and is_name(node.value, name)

        for call in all_of([self.node], ast.Call):
            changes = called(call).removeprefix(name + ".")
            if changes in ("mul_", "add_", "addmm_") or changes == "copy_" and reads(call.args):
                return True
            others = [*call.args, *(k.value for k in call.keywords if k.arg != "out")]
            if called(call).startswith("torch.") and is_name(keyword(call, "out"), name) and reads(others):
                return True
        return any(element(t) and reads([v]) for t, v, _ in self.assigned) or any(
            element(n.target) or is_name(n.target, name) for n in all_of([self.node], ast.AugAssign)
            if isinstance(n.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)))

    def squared(self, name: str) -> bool:
        """Whether the square of a size is taken, or a grid has as many tiles of it in both ways."""
        def tiles(node: ast.expr) -> bool:
            return called(node).rpartition(".")[2] == "cdiv" and is_name(node.args[0], name)

        return any(is_name(n.left, name) and (isinstance(n.op, ast.Mult) and is_name(n.right, name)
                                              or isinstance(n.op, ast.Pow) and number(n.right) == 2)
                   for n in all_of([self.node], ast.BinOp)) or any(
            tiles(a) and tiles(b) for n in all_of([self.node], ast.Tuple) for a, b in zip(n.elts, n.elts[1:]))


def cuts_bounded(index: ast.expr) -> bool:
    """Whether an index cuts by sizes from elsewhere, "k[b, start:end]": no part reaches to the end."""
    parts = listed(index)
    cuts = [p for p in parts if isinstance(p, ast.Slice)]
    ends = [p.upper for p in cuts]
    return bool(cuts) and not any(e is None or isinstance(e, ast.UnaryOp) for e in ends) and not any(
        isinstance(p, ast.Constant) and p.value is ... for p in parts)


def ranks_of(name: str, test: ast.expr, kind: type) -> set[int]:
    """The numbers that a condition compares the number of sizes of a tensor with."""
    asked = (f"{name}.ndim", f"{name}.dim()", f"len({name}.shape)")
    return {n for c in all_of([test], ast.Compare) if all(isinstance(op, kind) for op in c.ops)
            and any(ast.unparse(side) in asked for side in [c.left, *c.comparators])
            and (n := number(c.comparators[-1])) is not None}
