"""The eager path past torch's dispatcher: a call whose implementation, attributes and sizes are settled is a Plan, and running it takes little
beside the kernel's own launch. What torch traces, transforms or intercepts takes the way through torch.ops instead."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd import forward_ad

from triad.errors import UsageError

PLAIN = {torch.Tensor, torch.nn.Parameter}
_modes = torch._C._len_torch_dispatch_stack
_functions = torch._C._len_torch_function_stack
_transform = torch._C._functorch.peek_interpreter_stack
_tracing = torch._C._get_tracing_state


def plain() -> bool:
    """Says whether no mode, transform or trace stands between a call and its kernel."""
    return not _modes() and not _functions() and _transform() is None and _tracing() is None and forward_ad._current_level < 0


@dataclass(frozen=True)
class Step:
    """One pass of one implementation, for tensors of known dtypes and sizes."""

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

    def run(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        """The outputs in the order of the spec, None for one that is not given."""
        if self.leading is None:
            return self._call(tensors)
        count = math.prod(self.leading)
        made = self._call([t.reshape(count, t.shape[-1]) if r else t for t, r in zip(tensors, self.rows_in)])
        return [m.view(*self.leading, m.shape[-1]) if r and m is not None else m for m, r in zip(made, self.rows_out)]

    def _call(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        """An implementation that declines tensors which are not contiguous gets contiguous ones."""
        row = self.row
        try:
            if why := row.declines(self.direction, tensors, self.attributes):
                raise UsageError(why)
            made = self.launch(tensors)
        except (UsageError, NotImplementedError) as e:
            packed = [t.contiguous() for t in tensors]
            if all(a is b for a, b in zip(packed, tensors)) or row.declines(self.direction, packed, self.attributes):
                raise UsageError(f"{self.op}/{row.name}: {e}" if self.op not in str(e) else str(e)) from None
            made = self.launch(packed)
        if row.fresh:
            return made
        storages = {t.untyped_storage().data_ptr() for t in tensors if t.numel()}
        return [m.clone() if m is not None and m.numel() and m.untyped_storage().data_ptr() in storages else m for m in made]


def step(op: str, row: Any, direction: str, dtype: str, attributes: Mapping[str, Any], results: Sequence[tuple], **rows: Any) -> Step:
    """A step, ready to run. UsageError where the implementation has no such pass."""
    if not row.outputs(direction, dtype):
        raise UsageError(f"{op}/{row.name} has no {direction} in {dtype}")
    return Step(op, row, direction, dtype, attributes, results, row.prepared(direction, dtype, attributes, results), **rows)


def no_second(name: str) -> Exception:
    """A backward kernel is not differentiated: a gradient of a gradient would be wrong without a word."""
    return RuntimeError(f"{name} backward has no derivative: call backward without create_graph")


@dataclass
class Plan:
    """A call that is settled. Its backward is there where an input requires a gradient."""

    forward: Step
    kept: Sequence[int]  # the outputs that the caller gets
    backward: Step | None = None
    sources: Sequence[int] = ()  # of the backward's inputs: an input, behind the inputs an output; -1 - n: the gradient of the n-th kept output
    of: Sequence[int] = ()  # of the backward's outputs: the input whose gradient it is
    remembered: bool = False  # by the C++ part as well

    def __call__(self, tensors: Sequence[torch.Tensor]) -> Any:
        if self.backward is not None:
            return _Through.apply(self, *tensors)
        return self.pick(self.forward.run(tensors))

    def pick(self, made: Sequence[Any]) -> Any:
        """Of a step's outputs those that the caller gets."""
        return made[self.kept[0]] if len(self.kept) == 1 else tuple(made[k] for k in self.kept)


class _Through(torch.autograd.Function):
    """A plan under autograd. What only the backward needs is no output here."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, *tensors: torch.Tensor) -> Any:
        made = plan.forward.run(tensors)
        known = (*tensors, *made)
        ctx.plan = plan
        ctx.save_for_backward(*[known[s] for s in plan.sources if s >= 0])
        return plan.pick(made)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple:
        plan: Plan = ctx.plan
        saved = iter(ctx.saved_tensors)
        assert plan.backward is not None
        if torch.is_grad_enabled():
            raise no_second(f"{plan.backward.op}/{plan.backward.row.name}")
        made = plan.backward.run([next(saved) if s >= 0 else grads[-1 - s] for s in plan.sources])
        out: list[torch.Tensor | None] = [None] * len(ctx.needs_input_grad)
        for i, gradient in zip(plan.of, made):
            if ctx.needs_input_grad[1 + i]:
                out[1 + i] = gradient
        return tuple(out)
