"""Every operator of the catalogue as a torch.library custom operator."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.fx.experimental.symbolic_shapes import has_static_value
from torch.utils._python_dispatch import _disable_current_modes

from triad.errors import Unavailable, UsageError
from triad.torch import choice, cuda, extension, files, indices, worker
from triad.torch.direct import PLAIN, Plan, Plans, Step, no_second, plain, step
from triad.torch.signature import DTYPES, Signature, check, default, depends, evaluate

_TYPES = {"bool": "bool", "int": "int", "float": "float", "enum": "str"}
_AUTOCAST_DEVICES = ("cuda", "cpu")

PLANS = 10_000
"""How many calls, told apart by shapes, dtypes, attributes and implementation, are remembered ready to run."""
_grad_enabled, _any_autocast, _dynamo = torch.is_grad_enabled, torch._C._is_any_autocast_enabled, torch.compiler.is_dynamo_compiling
_modes, _function_modes = torch._C._len_torch_dispatch_stack, torch._C._len_torch_function_stack  # what torch's guards do not see
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
        # A backward whose inputs are made of the operator's own tensors can be torch's gradient; others are quantised anew by the caller.
        own = {t["name"] for t in [*self._forward.inputs, *self._forward.outputs]}
        upstream = {f"grad_{t['name']}" for t in self._forward.outputs}
        self.differentiable = self._backward is not None and all(t["name"] in own | upstream for t in self._backward.inputs)
        self._upstream = [t["name"] for t in self._backward.inputs if t["name"] in upstream] if self._backward and self.differentiable else []
        self._count = len(self._forward.inputs)
        self._looks = indices.among(self._forward.inputs)
        self._kept_outputs = [i for i, t in enumerate(self._forward.outputs) if _is_kept(t)]
        self._plans = Plans()
        self._number: int | None = None  # in the C++ part
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
                  "", "Gives " + ", ".join(t["name"] + " " + t["shape_text"]
                                           for t in self._forward.outputs if _is_kept(t)) + "."]
        return "\n".join(lines)

    # ---- definition

    def _define(self) -> None:
        self._op = self._custom(self.name, self._forward, self._forward.inputs, self._run("forward", self._forward.inputs))
        if self._backward is None:
            return
        self._from_saved = self._custom(f"{self.name}_backward", self._backward, self._backward.inputs, self._run("backward", self._backward.inputs))
        if not self.differentiable:
            return
        self._again = [*self._forward.inputs, *(t for t in self._backward.inputs if t["name"] in self._upstream)]
        self._from_inputs = self._custom(f"{self.name}_backward_recomputed", self._backward, self._again, self._run("backward", self._again))
        for name in ("backward", "backward_recomputed"):
            torch.library.register_autograd(f"triad::{self.name}_{name}", self._no_second, setup_context=lambda ctx, inputs, output: None, lib=_library)
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

        steps: dict[tuple, Step] = {}
        count = len(inputs)

        def made(key: tuple, arguments: Sequence[Any]) -> Step:
            tensors, attributes, impl = self._split(arguments, inputs)
            values = signature.bind(tensors, attributes, inputs)
            attributes = signature.resolve(attributes, values)
            results = signature.results(values, _first(tensors, inputs), attributes)
            if len(steps) > PLANS:
                steps.clear()
            steps[key] = step(self.name, self._row(impl, tensors[0].device), direction, signature.case_dtype(tensors, inputs), attributes, results,
                              signature.dtypes, self._looks, values)
            return steps[key]

        def run(*arguments: Any) -> Any:
            tensors = arguments[:count]
            key = (arguments[count:], *[(t.shape, t.dtype, t.device) for t in tensors])
            of = steps.get(key) or made(key, arguments)
            out = [tensors[0].new_empty((0,), dtype=t) if m is None else m for m, (_, _, t) in zip(of.run(tensors), of.results)]
            return out[0] if len(out) == 1 else tuple(out)
        return run

    def _plan(self, tensors: Sequence[torch.Tensor], leading: tuple[int, ...] | None, attributes: Mapping[str, Any], impl: str, gradient: bool) -> Plan:
        """The call settled; tensors have the ranks of the spec."""
        values = self._forward.bind(tensors, attributes)
        attributes, dtype, device = self._forward.resolve(attributes, values), self._forward.case_dtype(tensors), tensors[0].device
        first = _first(tensors, self._forward.inputs)
        row = self._row(impl, device)
        forward = step(self.name, row, "forward", dtype, attributes, self._forward.results(values, first, attributes), self._forward.dtypes, self._looks, values, leading=leading,
                       rows_in=_of_rows(self._forward.inputs), rows_out=_of_rows(self._forward.outputs))
        if isinstance(row, cuda.CudaRow) and device.type == "cuda":
            extension.start()
        if not gradient:
            return Plan(forward, self._kept_outputs)
        assert self._backward is not None
        rows = self._rows(device, impl)
        follower = rows[choice.behind(rows, impl, dtype)]
        declared = self._again if follower.recomputes else self._backward.inputs
        inputs, outputs = [t["name"] for t in self._forward.inputs], [t["name"] for t in self._forward.outputs]
        given = row.outputs("forward", dtype)
        sources = []
        for t in declared:
            name = t["name"]
            if name in self._upstream:
                sources.append(-1 - self._kept_outputs.index(outputs.index(name.removeprefix("grad_"))))
            else:
                if name in outputs and name not in given:
                    raise UsageError(f"{self.name}/{row.name} gives no {name}, and {follower.name} needs it for the gradient: name another implementation")
                sources.append(inputs.index(name) if name in inputs else len(inputs) + outputs.index(name))
        backward = step(self.name, follower, "backward", dtype, attributes, self._backward.results(values, first, attributes), self._backward.dtypes, leading=leading,
                        rows_in=_of_rows(declared), rows_out=_of_rows(self._backward.outputs))
        return Plan(forward, self._kept_outputs, backward, sources, [inputs.index(t["name"].removeprefix("grad_")) for t in self._backward.outputs])

    def _remember(self, fast: Any, plan: Plan, tensors: tuple, impl: str | None, keywords: dict[str, Any]) -> None:
        """Tells the C++ part of a plan; it takes those that CUDA kernels make up and that look at no data."""
        plan.remembered = True
        passes = [s for s in (plan.forward, plan.backward) if s is not None]
        if self._looks or not all(isinstance(s.row, cuda.CudaRow) for s in passes):
            return
        if self._number is None:
            self._number = fast.operator()

        def described(s: Step, sources: Sequence[int], of: Sequence[int]) -> tuple:
            name = f"{self.name}/{s.row.name}" + " backward" * (s.direction == "backward")
            flags_in, flags_out = ([bool(s.leading is not None and r) for r in rows] for rows in (s.rows_in, s.rows_out))
            shapes = [(*s.leading, sizes[-1]) if r else tuple(sizes) for (_, sizes, _), r in zip(s.results, flags_out)]
            return (s.launch.address, name, s.row.numbers(s.attributes), tuple(zip(sources, flags_in)),
                    tuple(zip(shapes, (t for *_, t in s.results), s.launch.given, flags_out, of)))
        backward = plan.backward and described(plan.backward, plan.sources, plan.of)
        fast.remember(self._number, tensors, impl, keywords, described(plan.forward, range(self._count), [0] * len(plan.forward.results)), backward, tuple(plan.kept))

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

    def _no_second(self, ctx: Any, *grads: torch.Tensor) -> tuple:
        raise no_second(self.name)

    def _gradients(self, ctx: Any, *grads: torch.Tensor) -> tuple:
        by_name = {f"grad_{t['name']}": g for t, g in zip(self._forward.outputs, grads)}
        assert self._backward is not None
        saved, declared = iter(ctx.saved_tensors), self._again if ctx.recomputes else self._backward.inputs
        tensors = [by_name[t["name"]] if t["name"] in by_name else next(saved) for t in declared]
        backward = self._from_inputs if ctx.recomputes else self._from_saved
        out = backward(*tensors, *ctx.attributes.values(), ctx.impl)
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

    def choose(self, impl: str | None, device: str, dtype: str, dims: tuple[tuple[str, int], ...] | None, gradient: bool,
               attributes: tuple[tuple[str, Any], ...] = (), measured: bool = True) -> str:
        """The implementation that a call takes: the one that is named, or of a family (None: of all) the fastest that passed, else the portable
        one that takes such a call; the portable one in any case where what was measured is not asked for."""
        family, on = impl or "", torch.device(device)
        rows = self._rows(on, family)
        if family in rows:
            return family
        directions = ("forward", "backward") if gradient and self.differentiable else ("forward",)
        able = choice.portable(rows, family, dtype, self._spec["default_contracts"].get(dtype, ""), directions)
        passes = {name: [(d, name if d == "forward" else choice.behind(rows, name, dtype)) for d in directions] for name in able}
        kinds = {a["name"]: a["type"] for a in self._attributes}
        said = {n: v for n, v in self._forward.resolve(dict(attributes), dict(dims or ())).items() if kinds[n] in ("bool", "enum")} if dims else {}
        best = choice.fastest(self.name, dtype, None if dims is None else dict(dims), said, gpu(on), passes) if measured and gpu(on) else []
        for name in dict.fromkeys([*best, *able]):
            if not any(self._declines(rows[of], d, dtype, dims, on) for d, of in passes[name]):
                return name
        raise choice.refuse(self.name, family, dtype, self.implementations(on))

    def _declines(self, row: Any, direction: str, dtype: str, dims: tuple[tuple[str, int], ...] | None, device: torch.device) -> str:
        """Asks an implementation about a call of such sizes: on a GPU with tensors that lie as usual, on a CPU, where some look at values, with zeros
        that take no memory."""
        if dims is None:
            return ""
        signature = self._forward if direction == "forward" or row.recomputes else self._backward
        assert signature is not None
        sizes = dict(dims)
        attributes = signature.resolve({}, sizes)
        parts = {"": dtype.split("_")[0], "$1": dtype.split("_")[0], "$2": dtype.split("_")[-1]}
        tensors = []
        for t in signature.inputs:
            shape, kind = [evaluate(e, {**sizes, **attributes}) for e in signature.shape_of(t, attributes)], DTYPES[parts.get(t["dtype"], t["dtype"])]
            tensors.append(torch.empty(shape, dtype=kind, device=device) if device.type == "cuda" else torch.zeros((), dtype=kind, device=device).expand(shape))
        return row.declines(direction, tensors, attributes)

    # ---- the call

    def __call__(self, *tensors: torch.Tensor, impl: str | None = None, **keywords: Any) -> Any:
        if _dynamo():
            return self._any(tensors, impl, keywords, None)
        fast = extension.loaded
        if fast is not None and self._number is not None:
            out = fast.call(self._number, tensors, impl, keywords)
            if out is not NotImplemented:
                return out
        if len(tensors) != self._count or _modes() or _function_modes() or forward_ad._current_level >= 0:
            return self._any(tensors, impl, keywords, None)
        kind = (impl, _grad_enabled(), *keywords.items()) if keywords else (impl, _grad_enabled())
        try:
            for same, plan, run in self._plans.recent.get(kind, ()):
                if same(*tensors):
                    break
            else:
                plan = None
        except TypeError:  # an attribute that has no hash
            plan = None
        if plan is None or fast is not None and not plan.remembered:
            return self._searched(tensors, impl, keywords, kind)
        return run(*tensors)

    def _searched(self, tensors: tuple, impl: str | None, keywords: dict[str, Any], kind: tuple) -> Any:
        """The call, where no mode stands in its way, by the key of all that tells calls apart; what is found is noted among the recent plans."""
        key = plan = None
        if plain():
            try:
                key = (*kind, *[(t.shape, t.dtype, t.device, t.requires_grad, t.__class__) for t in tensors])
                plan = self._plans.get(key)
            except (AttributeError, TypeError):  # an argument that is no tensor
                key = None
        if plan is None or _any_autocast() and torch.is_autocast_enabled(tensors[0].device.type):
            return self._any(tensors, impl, keywords, key)
        fast = extension.loaded
        if fast is not None and not plan.remembered:
            self._remember(fast, plan, tensors, impl, keywords)
        try:
            out = plan.run(*tensors)
        except RuntimeError:
            alive = _unwrapped(tensors)
            if alive is tensors:
                raise
            return self(*alive, impl=impl, **keywords)
        self._plans.note(kind, plan, tensors)
        return out

    def _any(self, given: tuple, impl: str | None, keywords: dict[str, Any], key: tuple | None) -> Any:
        """The call at full length. Where nothing stands between it and its kernel, what was settled is remembered under key."""
        if impl is not None and not isinstance(impl, str):
            raise UsageError(f"{self.name}: impl is {impl!r}: want the name of an implementation or a family, see {self.name}.implementations()")
        tensors, attributes = self._arguments(given if torch.compiler.is_compiling() else _unwrapped(given), keywords)
        kind = tensors[0].device.type
        if kind in _AUTOCAST_DEVICES and torch.is_autocast_enabled(kind):
            with torch.autocast(kind, enabled=False):  # an implementation's own operators are not cast again
                return self(*self._autocast(tensors, kind), impl=impl, **{n: v for n, v in attributes.items() if v is not None})
        flat, leading = self._flatten(tensors)
        dtype = self._forward.case_dtype(flat)
        if dtype not in self._forward.dtypes:
            raise UsageError(f"{self.name}: dtype {dtype}: want one of {', '.join(self._forward.dtypes)}")
        gradient = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
        if gradient and self._backward is None:
            raise UsageError(f"{self.name} has no backward: call it under torch.no_grad()")
        if gradient and not self.differentiable:
            raise UsageError(f"{self.name} has no gradient of its own: the operands of its backward are quantised anew by the caller: call it under "
                             f"torch.no_grad(), and {self.name}.backward for the gradients")
        if not torch.compiler.is_compiling():
            self._forward.bind(flat, {n: v for n, v in attributes.items() if v is not None})  # before anything is asked about such a call
        sizes = self._forward.sizes(flat, attributes)
        dims = tuple(sizes.items()) if all(type(v) is int and has_static_value(v) for v in sizes.values()) else None
        name = _chosen(self.name, impl, str(tensors[0].device), dtype, dims, gradient, tuple(attributes.items()))
        if torch.compiler.is_compiling() or not plain() or any(type(t) not in PLAIN for t in tensors):
            return self._kept(self._op(*flat, *attributes.values(), name), leading)
        plan = self._plan(flat, leading, attributes, name, gradient)
        if key is not None:
            if len(self._plans) > PLANS:
                self._plans.clear()
            self._plans[key] = plan
        return plan.run(*tensors)

    def backward(self, *tensors: torch.Tensor, impl: str, **keywords: Any) -> Any:
        """The backward by itself, on the tensors that the spec names, by one implementation: for an operator without a gradient of its own."""
        if self._backward is None:
            raise UsageError(f"{self.name} has no backward")
        names, known = [t["name"] for t in self._backward.inputs], [a["name"] for a in self._attributes]
        if len(tensors) != len(names) or not all(isinstance(t, torch.Tensor) for t in tensors) or set(keywords) - set(known):
            raise UsageError(f"{self.name}.backward: want the tensors {', '.join(names)}{' and ' + ', '.join(known) if known else ''} by keyword")
        with torch.no_grad():
            return self._from_saved(*tensors, *(keywords.get(a["name"], None if depends(a) else default(a, {})) for a in self._attributes), impl)

    def _kept(self, out: Any, leading: tuple[int, ...] | None = None) -> Any:
        """The outputs that the operator is asked for: what is saved for the backward is left out, and rows get their own dims back."""
        outputs = out if isinstance(out, tuple) else (out,)
        kept = [outputs[i] for i in self._kept_outputs]
        if leading is not None:
            count = _product(leading)  # what has no rows, since a switch is off, stays as it is
            kept = [o.reshape(*leading, *o.shape[1:]) if o.shape[0] == count else o for o in kept]
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
            if given[name].layout != torch.strided:
                raise UsageError(f"{self.name}: {name} is {given[name].layout}: want a dense tensor")
        # A default that depends on dims is None here: the operator itself knows them.
        return tuple(given[n] for n in names), {a["name"]: (None if depends(a) else default(a, {})) if keywords.get(a["name"]) is None else
                                                check(self.name, a, keywords[a["name"]]) for a in self._attributes}

    def _autocast(self, tensors: tuple[torch.Tensor, ...], kind: str) -> tuple[torch.Tensor, ...]:
        """Under torch.autocast the tensors of the case's dtype become what torch's own operator of the kind takes."""
        rule = (self._spec["autocast"] or {}).get(kind, "widest")  # of the spec's [torch]
        ours = [t["dtype"] == "" and x.dtype in (torch.float32, torch.float16, torch.bfloat16) for t, x in zip(self._forward.inputs, tensors)]
        dtype = torch.float32 if rule == "fp32" else torch.get_autocast_dtype(kind)
        if rule == "widest":
            dtype = torch.float32 if len({x.dtype for x, o in zip(tensors, ours) if o}) > 1 else tensors[0].dtype
        return tuple(x.to(dtype) if o else x for x, o in zip(tensors, ours))

    def _flatten(self, tensors: tuple[torch.Tensor, ...]) -> tuple[tuple[torch.Tensor, ...], tuple[int, ...] | None]:
        """An operator over rows takes tensors of any rank: what stands before the last dim are rows."""
        rows = _of_rows(self._forward.inputs)
        if not rows[0] or tensors[0].dim() == 2 or tensors[0].dim() == 0:
            return tensors, None
        leading = tuple(tensors[0].shape[:-1])
        for t, x, is_rows in zip(self._forward.inputs, tensors, rows):
            if is_rows and tuple(x.shape[:-1]) != leading:
                raise UsageError(f"{self.name}: {t['name']} has shape {list(x.shape)}: want {list(leading)} before the last dim, as {self._forward.inputs[0]['name']} has")
        return tuple(x.reshape(_product(leading), x.shape[-1]) if is_rows else x for x, is_rows in zip(tensors, rows)), leading

    def __repr__(self) -> str:
        return f"<triad.torch.ops.{self.name}{self.__signature__}>"


def _unwrapped(tensors: tuple) -> tuple:
    """Tensors that outlived the transform of torch.func that wrapped them, as what they wrap, as torch's own operators take them."""
    alive = tuple(torch._C._functorch.unwrap_if_dead(t) if isinstance(t, torch.Tensor) else t for t in tensors)
    return tensors if all(a is t for a, t in zip(alive, tensors)) else alive


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def _first(tensors: Sequence[torch.Tensor], inputs: Sequence[Mapping[str, Any]]) -> torch.dtype:
    """The dtype of the case: of the first input that has it; of gradients where a backward has no other."""
    return next((x.dtype for t, x in zip(inputs, tensors) if t["dtype"] in ("", "$1")), tensors[0].dtype)


def _is_kept(output: Mapping[str, Any]) -> bool:
    """Whether a call gives an output: optional ones are saved for the backward alone, unless a kernel chose
    them."""
    return not output["optional"] or output["given"]


def _of_rows(declared: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Of tensors of a spec those that are rows of something."""
    return [not isinstance(t["shape"], dict) and len(t["shape"]) > 1 and t["shape"][0] == "rows" for t in declared]


def gpu(device: torch.device) -> str:
    """What a GPU is called, here and in the database; "" for a CPU."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else ""


@torch._dynamo.assume_constant_result
def _chosen(op: str, impl: str | None, device: str, dtype: str, dims: tuple[tuple[str, int], ...] | None, gradient: bool,
            attributes: tuple[tuple[str, Any], ...]) -> str:
    key = (op, impl, device, dtype, dims, gradient, attributes)
    name = _choices.get(key)
    if name is None:
        with _disable_current_modes():  # the tensors by which an implementation is asked are real ones
            name = _functions[op].choose(impl, device, dtype, dims, gradient, attributes)
        if len(_choices) > 10_000:
            _choices.clear()
        _choices[key] = name
    return name


_choices: dict[tuple, str] = {}
_functions: dict[str, Function] = {}


class Operators:
    """The operators as functions of tensors."""

    def __init__(self) -> None:
        for spec in files.catalogue():
            _functions[spec["name"]] = Function(spec)
            setattr(self, spec["name"], _functions[spec["name"]])

    def __getattr__(self, name: str) -> Function:
        raise AttributeError(f"unknown operator {name!r}: want one of {', '.join(_functions)}")

    def __dir__(self) -> list[str]:
        return sorted(_functions)


ops = Operators()
