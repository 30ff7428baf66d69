"""What a function of a Python file and its Triton kernels do with parameters (own_facts.py uses it)."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from own_syntax import (
    all_of,
    arguments,
    assigned,
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
    # those of other packages have decorators of that name, too
    jit = re.compile(r"(?!torch\.|numba\.|nb\.|jax\.).*jit|cuda\.tile\.kernel\b")
    return isinstance(node, ast.FunctionDef) and any(jit.match(ast.unparse(d)) for d in node.decorator_list)


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
    for target, value, _ in assigned([kernel]):
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


def by_program(kernel: ast.FunctionDef) -> set[str]:
    """The pointers of which a kernel loads or stores an element for each of its programs, "y_ptr + row"."""
    first = r"tl\.program_id\((?:axis=)?0\)(?:\.to\(tl\.int64\))?"
    rows = {ast.unparse(t) for t, v, _ in assigned([kernel]) if re.fullmatch(first, ast.unparse(v))}
    at = [c.args[0] for c in all_of([kernel], ast.Call) if c.args and called(c) in ("tl.load", "tl.store")]
    return {leftmost(p) for p in at if isinstance(p, ast.BinOp) and isinstance(p.left, ast.Name) and (
        ast.unparse(p.right) in rows or re.fullmatch(first, ast.unparse(p.right)))}


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


def widens(kernels: Iterable[ast.FunctionDef]) -> bool:
    """Whether a kernel converts to fp32 what it has made of what it loads: it is for narrower tensors."""
    for kernel in kernels:
        made: set[str] = set()
        loads: set[str] = set()
        for target, value, _ in assigned([kernel]):
            names = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
            if called(value) == "tl.load" or names & (loads | made):
                (loads if called(value) == "tl.load" else made).add(ast.unparse(target))
        if any(called(c).endswith(".to") and c.args and dtype_of(c.args[0], "tl") == "fp32"
               and ast.unparse(c.func.value) in made for c in all_of([kernel], ast.Call)):
            return True
    return False


class Uses:
    """What the statements of a definition do with the tensors that it takes. asking are the nodes in which it
    may ask them for their sizes: of an autograd function those of its forward. kernels are the parameters of
    each kernel, and which are pointers."""

    def __init__(self, node: ast.stmt, asking: list[ast.AST], kernels: dict[str, tuple[list[str], dict]]):
        self.kernels = kernels
        self.parents = {id(child): n for n in ast.walk(node) for child in ast.iter_child_nodes(n)}
        self.asking = {id(n) for top in asking for n in ast.walk(top)}
        self.names: dict[str, list[ast.Name]] = {}
        for n in all_of([node], ast.Name):
            self.names.setdefault(n.id, []).append(n)
        self.compared: dict[str, list[tuple[tuple[int, int], int]]] = {}
        for n in all_of([node], ast.Assert, ast.If):
            self.read_condition(n)

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self.parents.get(id(node))

    def read_condition(self, node: ast.Assert | ast.If) -> None:
        """Notes what an assertion, or a condition that raises, says of a number: "x.ndim == 2"."""
        raises = isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise) and not any(
            isinstance(n, (ast.And, ast.Not)) for n in ast.walk(node.test))
        kind = ast.Eq if isinstance(node, ast.Assert) else ast.NotEq
        for c in all_of([node.test], ast.Compare):
            sides = [ast.unparse(side) for side in [c.left, *c.comparators]]
            if isinstance(c.ops[0], (ast.Eq, ast.NotEq)) and len(sides) == 2 and re.fullmatch(
                    r"\w+\.(?:shape\[0\]|size\(0\))", sides[1]):
                self.compared.setdefault("inner " + sides[0], []).append((place(c), 2))
            n = number(c.comparators[-1])
            if n is not None and (raises or kind is ast.Eq) and all(isinstance(op, kind) for op in c.ops):
                for side in sides:
                    self.compared.setdefault(side, []).append((place(c), n))

    def of(self, name: str) -> dict[str, Any]:
        uses = self.names.get(name, [])
        return {**self.asks(uses), **self.ranks(name, uses), **self.in_launches(uses),
                "reread": any(map(self.rewrites, uses)),
                "changed": any(map(self.changes, uses)) and not any(map(self.likens, uses)),
                "renamed": any(isinstance(use.ctx, ast.Store) and not isinstance(
                    self.parent(use), ast.AugAssign) for use in uses),
                "squared": any(map(self.squares, uses))}

    def call_of(self, use: ast.expr) -> tuple[ast.Call | None, str | None]:
        """The call that gets a value, with the name under which it does; None where no call does."""
        parent = self.parent(use)
        call = self.parent(parent) if isinstance(parent, ast.keyword) else parent
        is_argument = isinstance(call, ast.Call) and use is not call.func
        return call if is_argument else None, parent.arg if isinstance(parent, ast.keyword) else None

    def asks(self, uses: list[ast.Name]) -> dict[str, Any]:
        """Whether a tensor is asked for its sizes, whether a launch gets it, and which calls it goes to."""
        asks, used, handed = False, False, []
        for use in uses:
            parent, (call, name) = self.parent(use), self.call_of(use)
            if id(use) not in self.asking or not isinstance(use.ctx, ast.Load) or \
                    isinstance(parent, ast.Attribute) and parent.attr in TELLS_NO_SIZE:
                continue
            if isinstance(parent, ast.Subscript) and parent.value is use and cuts_bounded(parent.slice):
                used = True
            elif isinstance(parent, ast.Subscript) and ast.unparse(parent.value).endswith(".shape"):
                handed.append({"call": ast.unparse(parent.value), "index": 0, "name": ""})
            elif call is None:
                asks = True
            elif isinstance(call.func, ast.Subscript) or called(call).endswith("save_for_backward"):
                used = True
            else:
                at = call.args.index(use) if use in call.args else -1
                handed.append({"call": called(call), "index": at, "name": name or ""})
        return {"asks": asks, "used": used, "handed": handed}

    def ranks(self, name: str, uses: list[ast.Name]) -> dict[str, int]:
        """How many sizes the statements say that a tensor has, up to one that gives its name to another
        tensor: 0 for nothing, -1 for two things. reach is how many it has at least."""
        end = min((place(p) for p in map(self.parent, uses) if isinstance(p, (ast.Assign, ast.AnnAssign))
                   and p.value and not kept(p.value) and p.value not in uses), default=(sys.maxsize, 0))
        uses = [use for use in uses if place(use) < end]
        members = [p for use in uses if isinstance(p := self.parent(use), ast.Attribute)]
        asked = (f"{name}.ndim", f"{name}.dim()", f"len({name}.shape)")
        said = {n for text in asked for at, n in self.compared.get(text, []) if at < end}
        said |= {n for m in members if (n := self.unpacked(m))}
        if any(self.is_matrix(use) for use in uses):
            said.add(2)
        inner = (f"inner {name}.shape[1]", f"inner {name}.size(1)")
        if not said and any(at < end for text in inner for at, _ in self.compared.get(text, [])):
            said = {2}
        sizes = [(m.attr, self.asked_size(m)) for m in members]
        others = any(n is None and attr in RESHAPES for attr, n in sizes) or any(
            isinstance(p := self.parent(use), ast.Subscript) and p.value is use for use in uses)
        strides, places = {n for a, n in sizes if a == "stride"}, {n for _, n in sizes if n is not None}
        if not said and not others and places and strides == places == set(range(len(places))):
            said = {len(places)}
        asks = any(m.attr in ("ndim", "dim") or called(self.parent(m)) == "len" for m in members)
        return {"rank": -1 if len(said) > 1 else sum(said),
                "reach": 0 if asks else max((n + 1 for n in places), default=0)}

    def unpacked(self, member: ast.Attribute) -> int:
        """How many names the sizes of a tensor get, "M, N = x.shape"; 0 where they get none."""
        whole = self.parent(member) if member.attr == "size" else member
        if member.attr not in ("shape", "size") or isinstance(whole, ast.Call) and whole.args:
            return 0
        targets = [p.targets[0]] if isinstance(p := self.parent(whole), ast.Assign) else []
        return len(targets[0].elts) if targets and isinstance(targets[0], (ast.Tuple, ast.List)) and len(
            targets[0].elts) > 1 else 0

    def is_matrix(self, use: ast.Name) -> bool:
        """Whether torch takes nothing but a matrix there."""
        top: ast.AST | None = use
        while isinstance(p := self.parent(top), (ast.Attribute, ast.Subscript)) and p.value is top or \
                isinstance(p, ast.Call) and p.func is top:
            top = p
        call = self.parent(self.parent(use)) if isinstance(self.parent(use), ast.Attribute) else None
        return called(p) == "torch.mm" and p.args[0] is top or called(call) in (f"{use.id}.mm", f"{use.id}.t")

    def asked_size(self, node: ast.Attribute) -> int | None:
        """The number of the size or the stride that is asked for, "x.shape[0]", "x.stride(0)"."""
        parent = self.parent(node)
        if node.attr == "shape" and isinstance(parent, ast.Subscript):
            asked = number(parent.slice)
        elif node.attr in ("size", "stride") and isinstance(parent, ast.Call) and len(parent.args) == 1:
            asked = number(parent.args[0])
        else:
            return None
        return asked if asked is not None and asked >= 0 else None

    def in_launches(self, uses: list[ast.Name]) -> dict[str, Any]:
        """What the kernels that get a variable call it, and whether one of them takes it for a pointer."""
        names, tensor = [], False
        for use in uses:
            call, word = self.call_of(use)
            known, found = self.kernels.get(launched(call) if call else "", ([], {}))
            if known and use in call.args:
                word = known[call.args.index(use)] if call.args.index(use) < len(known) else None
            if word in known:
                names.append(word)
                tensor = tensor or word in found
        return {"called": names, "tensor": tensor}

    def rewrites(self, use: ast.Name) -> bool:
        """Whether the new values of a tensor are made of those that are there: "C[:] = a @ b + C"."""
        def reads(nodes: Iterable[ast.AST]) -> bool:
            return any(is_name(n, use.id) for node in nodes for n in ast.walk(node))

        parent, (call, name) = self.parent(use), self.call_of(use)
        if isinstance(parent, ast.Attribute) and isinstance(self.parent(parent), ast.Call):
            changed = parent.attr in ("mul_", "add_", "addmm_")
            return changed or parent.attr == "copy_" and reads(self.parent(parent).args)
        if name == "out" and call and called(call).startswith("torch."):
            return reads([*call.args, *(k.value for k in call.keywords if k.arg != "out")])
        is_element = isinstance(parent, ast.Subscript) and parent.value is use
        statement = self.parent(parent) if is_element else parent
        if isinstance(statement, ast.AugAssign) and statement.target in (use, parent):
            return isinstance(statement.op, (ast.Add, ast.Sub, ast.Mult, ast.Div))
        return is_element and isinstance(statement, ast.Assign) and parent in statement.targets and reads(
            [statement.value])

    def changes(self, use: ast.Name) -> bool:
        """Whether a tensor is changed where it lies: its elements, by a method, or in a launch."""
        top: ast.AST = use
        while isinstance(p := self.parent(top), ast.expr):
            if isinstance(p, ast.Call) and top is not p.func and isinstance(p.func, ast.Subscript):
                return True
            if isinstance(p, ast.Call) and top is p.func and ast.unparse(top).endswith("_"):
                return True
            top = p
        element = self.parent(use)
        return isinstance(p, ast.AugAssign) and p.target in (use, element) or isinstance(
            element, ast.Subscript) and element.value is use and isinstance(element.ctx, ast.Store)

    def likens(self, use: ast.Name) -> bool:
        """Whether another tensor is made like one, which a function may have forgotten to return."""
        p = self.parent(use)
        whole = self.parent(p) if isinstance(p, ast.Attribute) and p.attr == "size" else p
        call = whole if isinstance(whole, ast.Call) and use in whole.args else self.parent(whole)
        of_shape = isinstance(p, ast.Attribute) and p.attr in ("shape", "size")
        makes = r"torch\.(?:empty|zeros)" if of_shape else r"torch\.\w+_like"
        return re.fullmatch(makes, called(call)) is not None

    def squares(self, use: ast.Name) -> bool:
        """Whether a size is multiplied by itself."""
        parent = self.parent(use)
        return isinstance(parent, ast.BinOp) and parent.left is use and (
            isinstance(parent.op, ast.Mult) and is_name(parent.right, use.id)
            or isinstance(parent.op, ast.Pow) and number(parent.right) == 2)


def cuts_bounded(index: ast.expr) -> bool:
    """Whether an index cuts by sizes from elsewhere, "k[b, start:end]": no part reaches to the end."""
    parts = listed(index)
    cuts = [p for p in parts if isinstance(p, ast.Slice)]
    ends = [p.upper for p in cuts]
    return bool(cuts) and not any(e is None or isinstance(e, ast.UnaryOp) for e in ends) and not any(
        isinstance(p, ast.Constant) and p.value is ... for p in parts)


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
