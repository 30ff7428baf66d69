"""Every operator of the catalogue as a torch.library custom operator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.fx.experimental.symbolic_shapes import has_static_value
from torch.utils._python_dispatch import _disable_current_modes

from triad.errors import UsageError
from triad.torch import arguments as calls
from triad.torch import choice, cuda, extension, files, indices
from triad.torch.direct import PLAIN, Plan, Plans, Step, no_second, plain, step
from triad.torch.implementations import Implementations
from triad.torch.signature import Signature, default, depends

_TYPES = {"bool": "bool", "int": "int", "float": "float", "enum": "str"}
_AUTOCAST_DEVICES = ("cuda", "cpu")

PLANS = 10_000
"""How many calls are remembered ready to run, told apart by shapes, dtypes, attributes, implementation."""
_grad_enabled, _any_autocast = torch.is_grad_enabled, torch._C._is_any_autocast_enabled
_dynamo = torch.compiler.is_dynamo_compiling
# What torch's guards do not see.
_modes, _function_modes = torch._C._len_torch_dispatch_stack, torch._C._len_torch_function_stack


class _Library(torch.library.Library):
    """The fragment of torch's library that the operators are in. The kernels that torch makes for autograd
    are kept: where the C++ part stands before them, it calls them."""

    def __init__(self) -> None:
        super().__init__("triad", "FRAGMENT")
        self.autograd: dict[str, Callable[..., Any]] = {}

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", **options: Any) -> None:
        """Registers a kernel."""
        super().impl(op_name, fn, dispatch_key, **options)
        if dispatch_key == "Autograd":
            self.autograd[op_name] = fn


_library = _Library()


class Function:
    """One operator as a function of tensors: `ops.softmax(x, impl="triton")`."""

    def __init__(self, spec: Mapping[str, Any]):
        self.name: str = spec["name"]
        self._spec = spec
        self._forward = Signature(spec, "forward")
        passes = [p["pass"] for p in spec["passes"]]
        self._backward = Signature(spec, "backward") if "backward" in passes else None
        self._attributes: list[Mapping[str, Any]] = spec["attributes"] or []
        # A backward whose inputs are made of the operator's own tensors can be torch's gradient; others are
        # quantised anew by the caller.
        own = {t["name"] for t in [*self._forward.inputs, *self._forward.outputs]}
        upstream = {f"grad_{t['name']}" for t in self._forward.outputs}
        needed = [t["name"] for t in self._backward.inputs] if self._backward else []
        self.differentiable = self._backward is not None and all(n in own | upstream for n in needed)
        self._upstream = [n for n in needed if n in upstream] if self.differentiable else []
        self._implementations = Implementations(spec, self._forward, self._backward)
        self._count = len(self._forward.inputs)
        self._looks = indices.among(self._forward.inputs)
        self._kept_outputs = [i for i, t in enumerate(self._forward.outputs) if _is_kept(t)]
        self._plans = Plans()
        self._number: int | None = None  # in the C++ part
        self.__name__ = self.__qualname__ = self.name
        self.__doc__ = self._doc()
        self.__signature__ = inspect.Signature([
            *(inspect.Parameter(t["name"], inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=torch.Tensor)
              for t in self._forward.inputs),
            *(inspect.Parameter(a["name"], inspect.Parameter.KEYWORD_ONLY, default=None)
              for a in self._attributes),
            inspect.Parameter("impl", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="str | None")])
        self._define()

    def _doc(self) -> str:
        lines = [f"{self._spec['summary']}: {self._spec['formula']}", "", f"{self._spec['source']}", ""]
        lines += [f"{t['name']}  {t['shape_text']} {t['dtype'] or ', '.join(self._spec['dtypes'])}"
                  for t in self._forward.inputs]
        lines += [f"{a['name']}  {', '.join(a['values']) if a['values'] else a['type']}, default "
                  f"{a['default']}" for a in self._attributes]
        lines += ["impl  an implementation or a family (\"cuda/online\", \"triton\"); None: the fastest that "
                  "passed for such a case on this GPU, else the portable one",
                  "", "Gives " + ", ".join(t["name"] + " " + t["shape_text"]
                                           for t in self._forward.outputs if _is_kept(t)) + "."]
        return "\n".join(lines)

    # ---- definition

    def _define(self) -> None:
        self._op = self._custom(self.name, self._forward, self._forward.inputs)
        if self._backward is None:
            return
        self._from_saved = self._custom(f"{self.name}_backward", self._backward, self._backward.inputs)
        if not self.differentiable:
            return
        self._again = [*self._forward.inputs,
                       *(t for t in self._backward.inputs if t["name"] in self._upstream)]
        self._from_inputs = self._custom(f"{self.name}_backward_recomputed", self._backward, self._again)
        for name in ("backward", "backward_recomputed"):
            torch.library.register_autograd(f"triad::{self.name}_{name}", self._no_second,
                                            setup_context=lambda ctx, inputs, output: None, lib=_library)
        torch.library.register_autograd(f"triad::{self.name}", self._gradients, setup_context=self._save,
                                        lib=_library)

    def _custom(self, name: str, signature: Signature, inputs: Sequence[Mapping[str, Any]]) -> Any:
        arguments = [f"Tensor {t['name']}" for t in inputs]
        arguments += [f"{_TYPES[a['type']]}{'?' if depends(a) else ''} {a['name']}" for a in self._attributes]
        results = ", ".join(["Tensor"] * len(signature.outputs))
        if len(signature.outputs) != 1:
            results = f"({results})"
        schema = f"({', '.join([*arguments, 'str impl'])}) -> {results}"
        # Not torch.library.custom_op: its checks of every call cost more than a small kernel.
        _library.define(f"{name}{schema}", tags=(torch.Tag.pt2_compliant_tag,))
        _library.impl(name, self._run(name, signature, inputs), "CompositeExplicitAutograd")
        torch.library.register_fake(f"triad::{name}", self._fake(signature, inputs), lib=_library)
        return getattr(torch.ops.triad, name).default

    def _split(self, arguments: Sequence[Any],
               inputs: Sequence[Mapping[str, Any]]) -> tuple[Sequence[torch.Tensor], dict[str, Any], str]:
        tensors = arguments[:len(inputs)]
        attributes = dict(zip((a["name"] for a in self._attributes), arguments[len(inputs):-1]))
        return tensors, attributes, arguments[-1]

    def _fake(self, signature: Signature, inputs: Sequence[Mapping[str, Any]]) -> Callable[..., Any]:
        def fake(*arguments: Any) -> Any:
            tensors, attributes, impl = self._split(arguments, inputs)
            values = signature.bind(tensors, attributes, inputs)
            attributes = signature.resolve(attributes, values)
            dtype = signature.case_dtype(tensors, inputs)
            given = self._implementations.named(impl, tensors[0].device).outputs(signature.direction, dtype)
            made = [tensors[0].new_empty(shape if name in given else (0,), dtype=t)
                    for name, shape, t in signature.results(values, _first(tensors, inputs), attributes)]
            return made[0] if len(made) == 1 else tuple(made)
        return fake

    def _run(self, name: str, signature: Signature,
             inputs: Sequence[Mapping[str, Any]]) -> Callable[..., Any]:
        """The kernel of torch.ops.triad.name in Python. Once the C++ part is there, that has the name."""
        steps: dict[tuple, Step] = {}
        count = len(inputs)
        served = False

        def made(key: tuple, arguments: Sequence[Any]) -> Step:
            tensors, attributes, impl = self._split(arguments, inputs)
            values = signature.bind(tensors, attributes, inputs)
            attributes = signature.resolve(attributes, values)
            results = signature.results(values, _first(tensors, inputs), attributes)
            if len(steps) > PLANS:
                steps.clear()
            steps[key] = step(self.name, self._implementations.named(impl, tensors[0].device),
                              signature.direction, signature.case_dtype(tensors, inputs), attributes, results,
                              signature.dtypes, self._looks, values, rows_in=calls.of_rows(inputs),
                              rows_out=calls.of_rows(signature.outputs))
            if isinstance(steps[key].row, cuda.CudaRow) and tensors[0].device.type == "cuda":
                extension.start()
            return steps[key]

        def of(arguments: Sequence[Any]) -> Step:
            key = (arguments[count:], *[(t.shape, t.dtype, t.device) for t in arguments[:count]])
            return steps.get(key) or made(key, arguments)

        def described(*arguments: Any) -> tuple | None:
            s = of(arguments)
            return (self._described(s), s.look) if isinstance(s.row, cuda.CudaRow) else None

        def run(*arguments: Any) -> Any:
            nonlocal served
            if extension.loaded is not None and not served:
                served = True
                extension.loaded.serve(f"triad::{name}", count, described, run, _differentiated(name))
            s, tensors = of(arguments), arguments[:count]
            out = [tensors[0].new_empty((0,), dtype=t) if m is None else m
                   for m, (_, _, t) in zip(s.run(tensors), s.results)]
            return out[0] if len(out) == 1 else tuple(out)
        return run

    def _plan(self, tensors: Sequence[torch.Tensor], leading: tuple[int, ...] | None,
              attributes: Mapping[str, Any], impl: str, gradient: bool) -> Plan:
        """The call settled; tensors have the ranks of the spec."""
        values = self._forward.bind(tensors, attributes)
        attributes = self._forward.resolve(attributes, values)
        dtype, device = self._forward.case_dtype(tensors), tensors[0].device
        first = _first(tensors, self._forward.inputs)
        row = self._implementations.named(impl, device)
        forward = step(self.name, row, "forward", dtype, attributes,
                       self._forward.results(values, first, attributes), self._forward.dtypes, self._looks,
                       values, leading=leading,
                       rows_in=calls.of_rows(self._forward.inputs),
                       rows_out=calls.of_rows(self._forward.outputs))
        if isinstance(row, cuda.CudaRow) and device.type == "cuda":
            extension.start()
        if not gradient:
            return Plan(forward, self._kept_outputs)
        assert self._backward is not None
        rows = self._implementations.on(device, impl)
        follower = rows[choice.behind(rows, impl, dtype)]
        declared = self._again if follower.recomputes else self._backward.inputs
        inputs = [t["name"] for t in self._forward.inputs]
        outputs = [t["name"] for t in self._forward.outputs]
        given = row.outputs("forward", dtype)
        sources = []
        for t in declared:
            name = t["name"]
            if name in self._upstream:
                sources.append(-1 - self._kept_outputs.index(outputs.index(name.removeprefix("grad_"))))
            else:
                if name in outputs and name not in given:
                    raise UsageError(f"{self.name}/{row.name} gives no {name}, and {follower.name} needs it "
                                     "for the gradient: name another implementation")
                sources.append(inputs.index(name) if name in inputs else len(inputs) + outputs.index(name))
        backward = step(self.name, follower, "backward", dtype, attributes,
                        self._backward.results(values, first, attributes), self._backward.dtypes,
                        leading=leading,
                        rows_in=calls.of_rows(declared), rows_out=calls.of_rows(self._backward.outputs))
        return Plan(forward, self._kept_outputs, backward, sources,
                    [inputs.index(t["name"].removeprefix("grad_")) for t in self._backward.outputs])

    def _remember(self, fast: Any, plan: Plan, tensors: tuple, impl: str | None,
                  keywords: dict[str, Any]) -> None:
        """Tells the C++ part of a plan; it takes those that CUDA kernels make up and that look at no data."""
        plan.remembered = True
        passes = [s for s in (plan.forward, plan.backward) if s is not None]
        if self._looks or not all(isinstance(s.row, cuda.CudaRow) for s in passes):
            return
        if self._number is None:
            self._number = fast.operator()

        backward = plan.backward and self._described(plan.backward, plan.sources, plan.of)
        fast.remember(self._number, tensors, impl, keywords,
                      self._described(plan.forward), backward, tuple(plan.kept))

    def _described(self, s: Step, sources: Sequence[int] | None = None, of: Sequence[int] = ()) -> tuple:
        """A pass as the C++ part takes it: the kernel, which tensors go in, and what comes out. Without
        sources its own inputs go in; of is said of a backward in a plan alone."""
        name = f"{self.name}/{s.row.name}" + " backward" * (s.direction == "backward")
        flags_in, flags_out = ([bool(s.leading is not None and r) for r in rows]
                               for rows in (s.rows_in, s.rows_out))
        shapes = [(*s.leading, sizes[-1]) if r else tuple(sizes)
                  for (_, sizes, _), r in zip(s.results, flags_out)]
        sources = range(len(flags_in)) if sources is None else sources
        return (s.launch.address, name, s.row.numbers(s.attributes), tuple(zip(sources, flags_in)),
                tuple(zip(shapes, (t for *_, t in s.results), s.launch.given, flags_out,
                          of or [0] * len(shapes))))

    # ---- autograd

    def _save(self, ctx: Any, inputs: tuple, output: Any) -> None:
        tensors, ctx.attributes, ctx.impl = self._split(inputs, self._forward.inputs)
        outputs = output if isinstance(output, tuple) else (output,)
        ctx.mark_non_differentiable(*(o for o, t in zip(outputs, self._forward.outputs)
                                      if f"grad_{t['name']}" not in self._upstream))
        by_name = {t["name"]: x for t, x in zip([*self._forward.inputs, *self._forward.outputs],
                                                [*tensors, *outputs])}
        assert self._backward is not None
        rows = self._implementations.on(tensors[0].device, ctx.impl)
        ctx.impl = choice.behind(rows, ctx.impl, self._forward.case_dtype(tensors))
        ctx.recomputes = rows[ctx.impl].recomputes
        saved = [t for t in self._backward.inputs if t["name"] not in self._upstream]
        wanted = self._forward.inputs if ctx.recomputes else saved
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
        outputs = out if isinstance(out, tuple) else (out,)
        got = dict(zip((t["name"] for t in self._backward.outputs), outputs))
        wanted = [got.get(f"grad_{t['name']}") if ctx.needs_input_grad[i] else None
                  for i, t in enumerate(self._forward.inputs)]
        return (*wanted, *(None for _ in self._attributes), None)

    # ---- implementations

    def implementations(self, family: str = "", *, device: torch.device | str = "cpu") -> list[str]:
        """The names of the implementations that run on a device, all or those of a family: "cuda", "triton".
        On a CPU those of CUDA are built for the emulator first."""
        return self._implementations.names(torch.device(device), family)

    def choose(self, impl: str | None, device: str, dtype: str, dims: tuple[tuple[str, int], ...] | None,
               gradient: bool, attributes: tuple[tuple[str, Any], ...] = (), measured: bool = True) -> str:
        """The implementation that a call takes: the one that is named, or the fastest that passed of a family
        (None: of all), else the portable one that takes such a call. measured=False asks for the portable
        one in any case."""
        directions = ("forward", "backward") if gradient and self.differentiable else ("forward",)
        return self._implementations.choose(impl or "", torch.device(device), dtype, dims, directions,
                                            attributes, measured)

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
        """The call where no mode of torch is active: by the key of all that tells calls apart. The plan found
        is noted among the recent ones."""
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
            alive = calls.unwrapped(tensors)
            if alive is tensors:
                raise
            return self(*alive, impl=impl, **keywords)
        self._plans.note(kind, plan, tensors)
        return out

    def _any(self, given: tuple, impl: str | None, keywords: dict[str, Any], key: tuple | None) -> Any:
        """The call with every check. Where no mode or subclass of tensor changes it, its plan is remembered
        under key."""
        if impl is not None and not isinstance(impl, str):
            raise UsageError(f"{self.name}: impl is {impl!r}: want the name of an implementation or a "
                             f"family, see {self.name}.implementations()")
        tensors, attributes = calls.named(
            self.name, self._forward.inputs, self._attributes,
            given if torch.compiler.is_compiling() else calls.unwrapped(given), keywords)
        kind = tensors[0].device.type
        if kind in _AUTOCAST_DEVICES and torch.is_autocast_enabled(kind):
            with torch.autocast(kind, enabled=False):  # an implementation's own operators are not cast again
                rule = (self._spec["autocast"] or {}).get(kind, "widest")
                return self(*calls.cast(rule, self._forward.inputs, tensors, kind), impl=impl,
                            **{n: v for n, v in attributes.items() if v is not None})
        flat, leading = calls.flatten(self.name, self._forward.inputs, tensors)
        dtype = self._forward.case_dtype(flat)
        if dtype not in self._forward.dtypes:
            raise UsageError(f"{self.name}: dtype {dtype}: want one of {', '.join(self._forward.dtypes)}")
        gradient = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
        if gradient and self._backward is None:
            raise UsageError(f"{self.name} has no backward: call it under torch.no_grad()")
        if gradient and not self.differentiable:
            raise UsageError(f"{self.name} has no gradient of its own: the operands of its backward are "
                             "quantised anew by the caller: call it under "
                             f"torch.no_grad(), and {self.name}.backward for the gradients")
        if not torch.compiler.is_compiling():
            # Sizes that do not fit each other are refused before an implementation is asked about them.
            self._forward.bind(flat, {n: v for n, v in attributes.items() if v is not None})
        sizes = self._forward.sizes(flat, attributes)
        known = all(type(v) is int and has_static_value(v) for v in sizes.values())
        dims = tuple(sizes.items()) if known else None
        name = _chosen(self.name, impl, str(calls.place(tensors[0])), dtype, dims, gradient,
                       tuple(attributes.items()))
        if torch.compiler.is_compiling() or not plain() or any(type(t) not in PLAIN for t in tensors):
            return self._kept(self._op(*flat, *attributes.values(), name), leading)
        plan = self._plan(flat, leading, attributes, name, gradient)
        if key is not None:
            if len(self._plans) > PLANS:
                self._plans.clear()
            self._plans[key] = plan
        return plan.run(*tensors)

    def backward(self, *tensors: torch.Tensor, impl: str, **keywords: Any) -> Any:
        """The backward alone, by one implementation, on the tensors that the spec names: for an operator
        without a gradient of its own."""
        if self._backward is None:
            raise UsageError(f"{self.name} has no backward")
        names, known = [t["name"] for t in self._backward.inputs], [a["name"] for a in self._attributes]
        if (len(tensors) != len(names) or not all(isinstance(t, torch.Tensor) for t in tensors)
            or set(keywords) - set(known)):
            raise UsageError(f"{self.name}.backward: want the tensors "
                             f"{', '.join(names)}{' and ' + ', '.join(known) if known else ''} by keyword")
        with torch.no_grad():
            values = [keywords.get(a["name"], None if depends(a) else default(a, {}))
                      for a in self._attributes]
            return self._from_saved(*tensors, *values, impl)

    def _kept(self, out: Any, leading: tuple[int, ...] | None = None) -> Any:
        """The outputs of a call: what is saved for the backward is left out, and rows get their own dims
        back."""
        outputs = out if isinstance(out, tuple) else (out,)
        kept = [outputs[i] for i in self._kept_outputs]
        if leading is not None:
            count = calls.product(leading)  # what has no rows, since a switch is off, stays as it is
            kept = [o.reshape(*leading, *o.shape[1:]) if o.shape[0] == count else o for o in kept]
        return kept[0] if len(kept) == 1 else tuple(kept)

    def __repr__(self) -> str:
        return f"<triad.torch.ops.{self.name}{self.__signature__}>"


def _first(tensors: Sequence[torch.Tensor], inputs: Sequence[Mapping[str, Any]]) -> torch.dtype:
    """The dtype of the case: of the first input that has it; of gradients where a backward has no other."""
    return next((x.dtype for t, x in zip(inputs, tensors) if t["dtype"] in ("", "$1")), tensors[0].dtype)


def _differentiated(name: str) -> Callable[..., Any] | None:
    """The kernel that torch has made for the autograd of an operator, as the C++ part calls it: with the
    number of a set of dispatch keys before the arguments."""
    kernel = _library.autograd.get(name)
    return kernel and (lambda keys, *arguments: kernel(torch._C.DispatchKeySet.from_raw_repr(keys),
                                                       *arguments))


def _is_kept(output: Mapping[str, Any]) -> bool:
    """Whether a call gives an output: optional ones are saved for the backward alone, unless a kernel chose
    them."""
    return not output["optional"] or output["given"]


@torch._dynamo.assume_constant_result
def _chosen(op: str, impl: str | None, device: str, dtype: str, dims: tuple[tuple[str, int], ...] | None,
            gradient: bool,
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
