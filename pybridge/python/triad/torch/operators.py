"""Every operator of the catalogue as a torch.library custom operator."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from triad.catalog import ops as catalogue
from triad.errors import TriadError, Unavailable, UsageError
from triad.torch import choice, cuda, files, worker
from triad.torch.signature import DTYPES, Signature, default, depends, evaluate

_TYPES = {"bool": "bool", "int": "int", "float": "float", "enum": "str"}
_AUTOCAST = {"cuda": {"softmax": "fp32", "layernorm": "fp32", "flash_attention": "lower"}, "cpu": {"flash_attention": "lower"}}
"""What torch.autocast does with torch's own operator of the kind on a device; the inputs of others are widened to one dtype."""


PLANS = 10_000
"""How many calls, told apart by shapes, dtypes, attributes and implementation, are remembered ready to run."""
_library = torch.library.Library("triad", "FRAGMENT")


class Function:
    """One operator as a function of tensors: `ops.softmax(x, impl="triton")`."""

    def __init__(self, spec: Mapping[str, Any]):
        self.name: str = spec["name"]
        self._spec = spec
        self._forward = Signature(spec, "forward")
        passes = [p["pass"] for p in spec["passes"]]
        self._backward = Signature(spec, "backward") if "backward" in passes else None
        self._attributes: list[Mapping[str, Any]] = spec["attributes"] or []
        # A backward whose inputs are made of the operator's own tensors can be torch's gradient; fp8_gemm's are quantised anew by the caller.
        own = {t["name"] for t in [*self._forward.inputs, *self._forward.outputs]}
        upstream = {f"grad_{t['name']}" for t in self._forward.outputs}
        self.differentiable = self._backward is not None and all(t["name"] in own | upstream for t in self._backward.inputs)
        self._upstream = [t["name"] for t in self._backward.inputs if t["name"] in upstream] if self._backward and self.differentiable else []
        self._single = len(self._forward.outputs) == 1
        self._ready: dict[tuple, tuple] = {}
        self.__name__ = self.__qualname__ = self.name
        self.__doc__ = self._doc()
        self.__signature__ = inspect.Signature([
            *(inspect.Parameter(t["name"], inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=torch.Tensor) for t in self._forward.inputs),
            *(inspect.Parameter(a["name"], inspect.Parameter.KEYWORD_ONLY, default=None) for a in self._attributes),
            inspect.Parameter("impl", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="str | None")])
        self._define()

    def _doc(self) -> str:
        lines = [f"{self._spec['summary']}: {self._spec['formula']}", "", f"{self._spec['source']}", ""]
        lines += [f"{t['name']}  {t['shape_text']} {t['dtype'] or ', '.join(self._spec['dtypes'])}" for t in self._forward.inputs]
        lines += [f"{a['name']}  {', '.join(a['values']) if a['values'] else a['type']}, default {a['default']}" for a in self._attributes]
        lines += ["impl  an implementation or a family (\"cuda/online\", \"triton\"); None: the fastest that passed for such a case on this GPU, else the portable one",
                  "", f"Gives {', '.join(t['name'] + ' ' + t['shape_text'] for t in self._forward.outputs if not t['optional'])}."]
        return "\n".join(lines)

    # ---- definition

    def _define(self) -> None:
        self._op = self._custom(self.name, self._forward, self._forward.inputs, self._run("forward", self._forward.inputs))
        if not self.differentiable:
            return
        assert self._backward is not None
        again = [*self._forward.inputs, *(t for t in self._backward.inputs if t["name"] in self._upstream)]
        self._from_saved = self._custom(f"{self.name}_backward", self._backward, self._backward.inputs, self._run("backward", self._backward.inputs))
        self._from_inputs = self._custom(f"{self.name}_backward_recomputed", self._backward, again, self._run("backward", again))
        torch.library.register_autograd(f"triad::{self.name}", self._gradients, setup_context=self._save, lib=_library)

    def _custom(self, name: str, signature: Signature, inputs: Sequence[Mapping[str, Any]], kernel: Callable[..., Any]) -> Any:
        arguments = [f"Tensor {t['name']}" for t in inputs] + [f"{_TYPES[a['type']]}{'?' if depends(a) else ''} {a['name']}" for a in self._attributes] + ["str impl"]
        results = ["Tensor"] * len(signature.outputs)
        schema = f"({', '.join(arguments)}) -> {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}"
        # Not torch.library.custom_op: its checks of every call cost more than a small kernel.
        _library.define(f"{name}{schema}", tags=(torch.Tag.pt2_compliant_tag,))
        _library.impl(name, kernel, "CompositeExplicitAutograd")
        torch.library.register_fake(f"triad::{name}", self._fake(signature, inputs), lib=_library)
        return getattr(torch.ops.triad, name).default

    def _split(self, arguments: Sequence[Any], inputs: Sequence[Mapping[str, Any]]) -> tuple[Sequence[torch.Tensor], dict[str, Any], str]:
        tensors = arguments[:len(inputs)]
        return tensors, dict(zip((a["name"] for a in self._attributes), arguments[len(inputs):-1])), arguments[-1]

    def _fake(self, signature: Signature, inputs: Sequence[Mapping[str, Any]]) -> Callable[..., Any]:
        def fake(*arguments: Any) -> Any:
            tensors, attributes, impl = self._split(arguments, inputs)
            values = signature.bind(tensors, attributes, inputs)
            attributes = signature.resolve(attributes, values)
            dtype = signature.case_dtype(tensors, inputs)
            given = self._row(impl, tensors[0].device).outputs(signature.direction, dtype)
            made = [tensors[0].new_empty(shape if name in given else (0,), dtype=t)
                    for name, shape, t in signature.results(values, _first(tensors, inputs), attributes)]
            return made[0] if len(made) == 1 else tuple(made)
        return fake

    def _run(self, direction: str, inputs: Sequence[Mapping[str, Any]]) -> Callable[..., Any]:
        signature = self._forward if direction == "forward" else self._backward
        assert signature is not None

        plans: dict[tuple, tuple] = {}
        count = len(inputs)

        def plan(key: tuple, arguments: Sequence[Any]) -> tuple:
            tensors, attributes, impl = self._split(arguments, inputs)
            values = signature.bind(tensors, attributes, inputs)
            attributes = signature.resolve(attributes, values)
            dtype = signature.case_dtype(tensors, inputs)
            row = self._row(impl, tensors[0].device)
            if not row.outputs(direction, dtype):
                raise UsageError(f"{self.name}/{row.name} has no {direction} in {dtype}")
            if len(plans) > PLANS:
                plans.clear()
            plans[key] = row, dtype, attributes, signature.results(values, _first(tensors, inputs), attributes)
            return plans[key]

        def run(*arguments: Any) -> Any:
            tensors = arguments[:count]
            key = (arguments[count:], *[(t.shape, t.dtype, t.device) for t in tensors])
            row, dtype, attributes, results = plans.get(key) or plan(key, arguments)
            made = _call(row, direction, dtype, tensors, attributes, results, self.name)
            made = [tensors[0].new_empty((0,), dtype=t) if m is None else m for m, (_, _, t) in zip(made, results)]
            return made[0] if len(made) == 1 else tuple(made)
        return run

    # ---- autograd

    def _save(self, ctx: Any, inputs: tuple, output: Any) -> None:
        tensors, ctx.attributes, ctx.impl = self._split(inputs, self._forward.inputs)
        outputs = output if isinstance(output, tuple) else (output,)
        ctx.mark_non_differentiable(*(o for o, t in zip(outputs, self._forward.outputs) if f"grad_{t['name']}" not in self._upstream))
        by_name = {t["name"]: x for t, x in zip([*self._forward.inputs, *self._forward.outputs], [*tensors, *outputs])}
        assert self._backward is not None
        rows = self._rows(tensors[0].device, ctx.impl)
        ctx.impl = choice.behind(rows, ctx.impl, self._forward.case_dtype(tensors))
        ctx.recomputes = rows[ctx.impl].recomputes
        wanted = self._forward.inputs if ctx.recomputes else [t for t in self._backward.inputs if t["name"] not in self._upstream]
        ctx.save_for_backward(*(by_name[t["name"]] for t in wanted))

    def _gradients(self, ctx: Any, *grads: torch.Tensor) -> tuple:
        by_name = {f"grad_{t['name']}": g for t, g in zip(self._forward.outputs, grads)}
        upstream = [by_name[name] for name in self._upstream]
        assert self._backward is not None
        backward = self._from_inputs if ctx.recomputes else self._from_saved
        out = backward(*ctx.saved_tensors, *upstream, *ctx.attributes.values(), ctx.impl)
        got = dict(zip((t["name"] for t in self._backward.outputs), out if isinstance(out, tuple) else (out,)))
        wanted = [got.get(f"grad_{t['name']}") if ctx.needs_input_grad[i] else None for i, t in enumerate(self._forward.inputs)]
        return (*wanted, *(None for _ in self._attributes), None)

    # ---- implementations

    def _rows(self, device: torch.device, family: str = "") -> dict[str, Any]:
        """The implementations that run on a device, those of one family where one is named: the others are not even looked for."""
        found: dict[str, Any] = {}
        of = family.partition("/")[0]
        if device.type not in ("cpu", "cuda"):
            raise UsageError(f"{self.name}: a tensor on {device}: want one on a CPU or a CUDA device")
        if of in ("", "torch") or of == "triton" and device.type == "cuda":
            found.update(files.rows(self.name, device.type))
        attributes = json.dumps(self._attributes)
        if of == "triton" and device.type == "cpu":
            found.update(worker.rows(self.name, "triton", attributes))
        if of == "cuda" and device.type == "cpu":
            found.update(worker.rows(self.name, "cuda", attributes))
        if of in ("", "cuda") and device.type == "cuda":
            names = {s.direction: [t["name"] for t in s.outputs] for s in (self._forward, self._backward) if s}
            try:
                found.update(cuda.rows(self.name, attributes, json.dumps(names)))
            except Unavailable:
                if of:
                    raise
        return found

    def _row(self, impl: str, device: torch.device) -> Any:
        rows = self._rows(device, impl)
        if impl not in rows:
            raise UsageError(f"{self.name} has no implementation {impl!r} on {device.type}: it has {', '.join(self.implementations(device)) or 'none'}")
        return rows[impl]

    def implementations(self, device: torch.device | str = "cpu") -> list[str]:
        """The implementations that run on a device. On a CPU those of CUDA are built for the emulator first."""
        device, found = torch.device(device), []
        for family in ("torch", "triton", "cuda"):
            try:
                found += [n for n in self._rows(device, family) if n.startswith(family + "/") and n not in found]
            except Unavailable:
                pass
        return found

    def choose(self, impl: str | None, device: str, dtype: str, dims: tuple[tuple[str, int], ...] | None, gradient: bool) -> str:
        """The implementation that a call takes: the one that is named, or of a family (None: of all) the fastest that passed, else the portable
        one that takes such a call."""
        family, on = impl or "", torch.device(device)
        rows = self._rows(on, family)
        if family in rows:
            return family
        directions = ("forward", "backward") if gradient and self.differentiable else ("forward",)
        able = choice.portable(rows, family, dtype, self._spec["default_contracts"].get(dtype, ""), directions)
        best = choice.fastest(self.name, dtype, None if dims is None else dict(dims), on, family, able)
        for name in [best] if best else able:
            if not any(self._declines(rows[name if d == "forward" else choice.behind(rows, name, dtype)], d, dtype, dims, on) for d in directions):
                return name
        raise choice.refuse(self.name, family, dtype, self.implementations(on))

    def _declines(self, row: Any, direction: str, dtype: str, dims: tuple[tuple[str, int], ...] | None, device: torch.device) -> str:
        """Asks an implementation about a call of such sizes, with tensors of one element shown everywhere."""
        if dims is None:
            return ""
        signature = self._forward if direction == "forward" or row.recomputes else self._backward
        assert signature is not None
        sizes = dict(dims)
        attributes = signature.resolve({}, sizes)
        parts = {"": dtype.split("_")[0], "$1": dtype.split("_")[0], "$2": dtype.split("_")[-1]}
        tensors = [torch.zeros((), dtype=DTYPES[parts.get(t["dtype"], t["dtype"])], device=device).expand(
            [evaluate(e, {**sizes, **attributes}) for e in signature.shape_of(t, attributes)]) for t in signature.inputs]
        return row.declines(direction, tensors, attributes)

    # ---- the call

    def __call__(self, *tensors: torch.Tensor, impl: str | None = None, **keywords: Any) -> Any:
        if torch.compiler.is_compiling() or len(tensors) != len(self._forward.inputs):
            return self._any(tensors, impl, keywords, None)
        gradient = torch.is_grad_enabled()
        try:
            key = (impl, tuple(keywords.items()), *[(t.shape, t.dtype, t.device, gradient and t.requires_grad) for t in tensors])
            ready = self._ready.get(key)
        except (AttributeError, TypeError):  # an argument that is no tensor, sizes that are symbols
            key = ready = None
        if ready is None or torch.is_autocast_enabled(key[2][2].type):
            return self._any(tensors, impl, keywords, key)
        out = self._op(*tensors, *ready)
        return out if self._single else self._kept(out)

    def _any(self, given: tuple, impl: str | None, keywords: dict[str, Any], key: tuple | None) -> Any:
        """The call at full length. Where it needed nothing but a choice, what it chose is remembered under key."""
        tensors, attributes = self._arguments(given, keywords)
        tensors = self._autocast(tensors)
        tensors, leading = self._flatten(tensors)
        dtype = self._forward.case_dtype(tensors)
        if dtype not in self._forward.dtypes:
            raise UsageError(f"{self.name}: dtype {dtype}: want one of {', '.join(self._forward.dtypes)}")
        gradient = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
        sizes = {} if torch.compiler.is_compiling() else self._forward.sizes(tensors, attributes)
        dims = tuple(sizes.items()) if sizes and all(type(v) is int for v in sizes.values()) else None
        name = _chosen(self.name, impl, str(tensors[0].device), dtype, dims, gradient)
        out = self._op(*tensors, *attributes.values(), name)
        if key is not None and len(given) == len(tensors) and all(a is b for a, b in zip(given, tensors)):
            if len(self._ready) > PLANS:
                self._ready.clear()
            self._ready[key] = (*attributes.values(), name)
        return self._kept(out, leading)

    def _kept(self, out: Any, leading: tuple[int, ...] | None = None) -> Any:
        """The outputs that the operator is asked for: what is saved for the backward is left out, and rows get their own dims back."""
        outputs = out if isinstance(out, tuple) else (out,)
        kept = [o for o, t in zip(outputs, self._forward.outputs) if not t["optional"]]
        if leading is not None:
            kept = [o.reshape(*leading, *o.shape[1:]) for o in kept]
        return kept[0] if len(kept) == 1 else tuple(kept)

    def _arguments(self, tensors: tuple, keywords: dict[str, Any]) -> tuple[tuple[torch.Tensor, ...], dict[str, Any]]:
        names = [t["name"] for t in self._forward.inputs]
        known = {a["name"] for a in self._attributes}
        if len(tensors) > len(names):
            raise UsageError(f"{self.name}: {len(tensors)} tensors: want {', '.join(names)}")
        given = dict(zip(names, tensors))
        for name, value in keywords.items():
            if name not in known and (name not in names or name in given):
                raise UsageError(f"{self.name}: unknown or repeated argument {name!r}: want {', '.join([*names, *sorted(known), 'impl'])}")
            if name in names:
                given[name] = value
        if len(given) < len(names):
            raise UsageError(f"{self.name}: {len(given)} tensors: want {', '.join(names)}")
        for name in names:
            if not isinstance(given[name], torch.Tensor):
                raise UsageError(f"{self.name}: {name} is a {type(given[name]).__name__}: want a torch.Tensor")
        # A default that depends on dims is None here: the operator itself knows them.
        return tuple(given[n] for n in names), {a["name"]: keywords.get(a["name"], None if depends(a) else default(a, {})) for a in self._attributes}

    def _autocast(self, tensors: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        """Under torch.autocast the tensors of the case's dtype become what torch's own operator of the kind takes."""
        kind = tensors[0].device.type
        if kind not in _AUTOCAST or not torch.is_autocast_enabled(kind):
            return tensors
        rule = _AUTOCAST.get(kind, {}).get(self.name, "widest")
        ours = [t["dtype"] == "" and x.dtype in (torch.float32, torch.float16, torch.bfloat16) for t, x in zip(self._forward.inputs, tensors)]
        dtype = torch.float32 if rule == "fp32" else torch.get_autocast_dtype(kind)
        if rule == "widest":
            dtype = torch.float32 if len({x.dtype for x, o in zip(tensors, ours) if o}) > 1 else tensors[0].dtype
        return tuple(x.to(dtype) if o else x for x, o in zip(tensors, ours))

    def _flatten(self, tensors: tuple[torch.Tensor, ...]) -> tuple[tuple[torch.Tensor, ...], tuple[int, ...] | None]:
        """An operator over rows takes tensors of any rank: what stands before the last dim are rows."""
        rows = [self._forward.shape_of(t, {})[:1] == ["rows"] if not isinstance(t["shape"], dict) else False for t in self._forward.inputs]
        if not rows[0] or tensors[0].dim() == 2 or tensors[0].dim() == 0:
            return tensors, None
        leading = tuple(tensors[0].shape[:-1])
        for t, x, is_rows in zip(self._forward.inputs, tensors, rows):
            if is_rows and tuple(x.shape[:-1]) != leading:
                raise UsageError(f"{self.name}: {t['name']} has shape {list(x.shape)}: want {list(leading)} before the last dim, as {self._forward.inputs[0]['name']} has")
        return tuple(x.reshape(_product(leading), x.shape[-1]) if is_rows else x for x, is_rows in zip(tensors, rows)), leading

    def __repr__(self) -> str:
        return f"<triad.torch.ops.{self.name}{self.__signature__}>"


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def _first(tensors: Sequence[torch.Tensor], inputs: Sequence[Mapping[str, Any]]) -> torch.dtype:
    """The dtype of the case: of the first input that has it; of gradients where a backward has no other."""
    return next((x.dtype for t, x in zip(inputs, tensors) if t["dtype"] in ("", "$1")), tensors[0].dtype)


def _call(row: Any, direction: str, dtype: str, tensors: Sequence[torch.Tensor], attributes: Mapping[str, Any], results: Sequence[tuple], op: str) -> list:
    """Calls an implementation; one that declines tensors which are not contiguous gets contiguous ones."""
    why = row.declines(direction, tensors, attributes)
    try:
        if why:
            raise UsageError(why)
        made = row.run(direction, dtype, tensors, attributes, results)
    except (UsageError, NotImplementedError) as e:
        packed = [t.contiguous() for t in tensors]
        if all(a is b for a, b in zip(packed, tensors)) or row.declines(direction, packed, attributes):
            raise UsageError(f"{op}/{row.name}: {e}" if op not in str(e) else str(e)) from None
        made = row.run(direction, dtype, packed, attributes, results)
    storages = {t.untyped_storage().data_ptr() for t in tensors if t.numel()}
    return [m.clone() if m is not None and m.numel() and m.untyped_storage().data_ptr() in storages else m for m in made]


@torch._dynamo.assume_constant_result
def _chosen(op: str, impl: str | None, device: str, dtype: str, dims: tuple[tuple[str, int], ...] | None, gradient: bool) -> str:
    key = (op, impl, device, dtype, dims, gradient)
    name = _choices.get(key)
    if name is None:
        name = _functions[op].choose(impl, device, dtype, dims, gradient)
        if len(_choices) > 10_000:
            _choices.clear()
        _choices[key] = name
    return name


_choices: dict[tuple, str] = {}
_functions: dict[str, Function] = {}


class Operators:
    """The operators as functions of tensors."""

    def __init__(self) -> None:
        for o in catalogue():
            _functions[o.name] = Function(o.spec)
            setattr(self, o.name, _functions[o.name])

    def __getattr__(self, name: str) -> Function:
        raise AttributeError(f"unknown operator {name!r}: want one of {', '.join(_functions)}")

    def __dir__(self) -> list[str]:
        return sorted(_functions)


ops = Operators()
