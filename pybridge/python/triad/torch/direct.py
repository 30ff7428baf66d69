"""The eager path past torch's dispatcher: a call whose implementation, attributes and sizes are settled is a
Plan, and running it takes little beside the kernel's own launch. What torch traces, transforms or intercepts
takes the way through torch.ops instead."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd import forward_ad

from triad.errors import UsageError, refusal
from triad.torch import indices

PLAIN = {torch.Tensor, torch.nn.Parameter}
RECENT = 8
"""How many plans of one implementation with one set of attributes are looked for by torch's guards."""
RECENT_KEYS = 1000
_grad_enabled = torch.is_grad_enabled
_modes = torch._C._len_torch_dispatch_stack
_functions = torch._C._len_torch_function_stack
_transform = torch._C._functorch.peek_interpreter_stack
_tracing = torch._C._is_tracing
# What torch.compile checks before it runs what it compiled: in C++, all tensors by one call. A torch without
# it finds plans by their keys alone.
_Guards = getattr(getattr(getattr(torch._C, "_dynamo", None), "guards", None), "TensorGuards", None)


def plain() -> bool:
    """Says whether no mode, transform or trace stands between a call and its kernel."""
    return (not _modes() and not _functions() and _transform() is None and not _tracing()
            and forward_ad._current_level < 0)


@dataclass
class Step:
    """One pass of one implementation, for tensors of known dtypes and sizes. run(tensors) gives the outputs
    in the order of the spec, None for one that is not given."""

    op: str
    row: Any
    direction: str
    dtype: str
    attributes: Mapping[str, Any]
    results: Sequence[tuple]  # name, sizes, dtype
    launch: Callable[[Sequence[torch.Tensor]], list]
    leading: tuple[int, ...] | None = None  # the dims that are one dim, rows, for the implementation
    rows_in: Sequence[bool] = ()
    rows_out: Sequence[bool] = ()
    look: Callable[[Sequence[torch.Tensor]], None] | None = None  # at the data of the inputs, before a launch

    def __post_init__(self) -> None:
        if getattr(self.row, "asked", False):  # its launch takes rows as they come
            # a method: an object that is called costs more
            self.run: Callable[[Sequence[torch.Tensor]], list] = self.launch.__call__
        else:
            self.run = self._call if self.leading is None else self._flat(self._call, self.leading)

    def _flat(self, call: Callable[[Sequence[torch.Tensor]], list],
              leading: tuple[int, ...]) -> Callable[[Sequence[torch.Tensor]], list]:
        """call, with the leading dims as one."""
        count = math.prod(leading)

        def run(tensors: Sequence[torch.Tensor]) -> list:
            made = call([t.reshape(count, t.shape[-1]) if r else t for t, r in zip(tensors, self.rows_in)])
            return [m.view(*leading, m.shape[-1]) if r and m is not None else m for m,
                    r in zip(made, self.rows_out)]
        return run

    def _call(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        """An implementation that declines tensors which are not contiguous gets contiguous ones."""
        row = self.row
        try:
            if why := row.declines(self.direction, tensors, self.attributes):
                raise UsageError(why)
            made = self.launch(tensors)
        except (UsageError, NotImplementedError) as e:
            packed = [t.contiguous() for t in tensors]
            if all(a is b for a, b in zip(packed, tensors)) or row.declines(self.direction, packed,
                self.attributes):
                raise refusal(f"{self.op}/{row.name}", str(e), self.direction) from None
            made = self.launch(packed)
        if row.fresh:
            return made
        storages = {t.untyped_storage().data_ptr() for t in tensors if t.numel()}
        return [m.clone() if m is not None and m.numel() and m.untyped_storage().data_ptr() in storages
                else m for m in made]


def step(op: str, row: Any, direction: str, dtype: str, attributes: Mapping[str, Any],
         results: Sequence[tuple], dtypes: Sequence[str], looks: Sequence[indices.Place] = (),
         values: Mapping[str, Any] | None = None, **rows: Any) -> Step:
    """A step, ready to run. UsageError where the implementation has no such pass; dtypes are those that the
    pass of the operator has. A forward looks at its offsets and targets first: values are the sizes."""
    if not row.outputs(direction, dtype):
        taken = [d for d in dtypes if row.outputs(direction, d)]
        raise refusal(f"{op}/{row.name}", f"it has no {direction} in {dtype}"
                      + f": it takes {', '.join(taken)}" * bool(taken))
    taken = rows if getattr(row, "asked", False) else {}
    made = Step(op, row, direction, dtype, attributes, results, row.prepared(direction, dtype, attributes,
        results, **taken), **rows)
    if looks and direction == "forward":
        run = made.run

        def look(tensors: Sequence[torch.Tensor]) -> None:
            indices.look(op, looks, tensors, values or {}, attributes)

        def looked(tensors: Sequence[torch.Tensor]) -> list:
            look(tensors)
            return run(tensors)
        made.run, made.look = looked, look
    return made


def no_second(name: str) -> Exception:
    """A backward kernel is not differentiated: a gradient of a gradient would be wrong without a word."""
    return RuntimeError(f"{name} backward has no derivative: call backward without create_graph")


@dataclass
class Plan:
    """A call that is settled. Its backward is there where an input requires a gradient. run(*tensors) gives
    what the caller gets."""

    forward: Step
    kept: Sequence[int]  # the outputs that the caller gets
    backward: Step | None = None
    # of the backward's inputs: an input, behind the inputs an output; -1 - n: the gradient of the n-th kept
    # output
    sources: Sequence[int] = ()
    of: Sequence[int] = ()  # of the backward's outputs: the input whose gradient it is
    remembered: bool = False  # by the C++ part as well

    def __post_init__(self) -> None:
        self.run: Callable[..., Any] = _alone(self) if self.backward is None else _through(self)


def _alone(plan: Plan) -> Callable[..., Any]:
    """A plan without a gradient."""
    run, handed = plan.forward.run, operator.itemgetter(*plan.kept)
    return lambda *tensors: handed(run(tensors))


def _picked(places: Sequence[int]) -> Callable[[tuple], tuple]:
    """A function that takes the elements at some places of a tuple."""
    if not places:
        return lambda known: ()
    return (operator.itemgetter(*places) if len(places) > 1
            else operator.itemgetter(slice(places[0], places[0] + 1)))


def _through(plan: Plan) -> Callable[..., Any]:
    """A plan under autograd: a Function of its own, so that a call finds everything settled. What only the
    backward needs is no output of it."""
    run, handed, then = plan.forward.run, operator.itemgetter(*plan.kept), plan.backward
    assert then is not None
    saved = [s for s in plan.sources if s >= 0]
    save, again = _picked(saved), then.run
    order = iter(range(len(saved)))
    given = _picked([next(order) if s >= 0 else len(saved) - 1 - s for s in plan.sources])
    # Torch drops a gradient that no one wants.
    gradients = [plan.of.index(i) if i in plan.of else None for i in range(len(plan.forward.rows_in))]

    def forward(ctx: Any, *tensors: torch.Tensor) -> Any:
        made = run(tensors)
        ctx.save_for_backward(*save((*tensors, *made)))
        return handed(made)

    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        if _grad_enabled():
            raise no_second(f"{then.op}/{then.row.name}")
        made = again(given(ctx.saved_tensors + grads))
        return made[0] if len(gradients) == 1 else tuple([None if i is None else made[i] for i in gradients])

    kind = type(torch.autograd.Function)(plan.forward.op, (torch.autograd.Function,),
                                         {"forward": staticmethod(forward),
                                          "backward": staticmethod(backward)})
    # What Function.apply does in Python before this is for the transforms of torch.func: none is there, see
    # plain.
    return super(torch.autograd.Function, kind).apply


class Plans(dict):
    """Plans by what tells calls apart. recent has the last of them by implementation and attributes, each
    behind torch's own guard of its tensors: their types, dtypes, devices, sizes, requires_grad, and what
    stands between a call on them and its kernel (autocast, transforms, traces, inference mode; not the modes
    of direct.plain)."""

    def __init__(self) -> None:
        super().__init__()
        self.recent: dict[tuple, list[tuple[Callable[..., bool], Plan, Callable[..., Any]]]] = {}

    def clear(self) -> None:
        super().clear()
        self.recent.clear()

    def note(self, key: tuple, plan: Plan, tensors: Sequence[torch.Tensor]) -> None:
        """Puts a plan to the front of the recent ones. The same tensor twice passes no guard of torch's."""
        if _Guards is None or len({id(t) for t in tensors}) < len(tensors):
            return
        guards = _Guards(*tensors, dynamic_dims_sizes=[list(t.shape) for t in tensors],
                         dynamic_dims_strides=[[None] * t.dim() for t in tensors])
        if len(self.recent) > RECENT_KEYS:
            self.recent.clear()
        self.recent[key] = [(guards.check, plan, plan.run), *self.recent.get(key, ())][:RECENT]
