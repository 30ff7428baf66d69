"""The eager path past torch's dispatcher: a call whose implementation, attributes and sizes are settled is a Plan, and running it takes little
beside the kernel's own launch. What torch traces, transforms or intercepts takes the way through torch.ops instead."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd import forward_ad

from triad.errors import UsageError, refusal

PLAIN = {torch.Tensor, torch.nn.Parameter}
_modes = torch._C._len_torch_dispatch_stack
_functions = torch._C._len_torch_function_stack
_transform = torch._C._functorch.peek_interpreter_stack
_tracing = torch._C._is_tracing


def plain() -> bool:
    """Says whether no mode, transform or trace stands between a call and its kernel."""
    return not _modes() and not _functions() and _transform() is None and not _tracing() and forward_ad._current_level < 0


@dataclass
class Step:
    """One pass of one implementation, for tensors of known dtypes and sizes. run(tensors) gives the outputs in the order of the spec, None for
    one that is not given."""

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

    def __post_init__(self) -> None:
        call = self.launch if getattr(self.row, "asked", False) else self._call
        self.run: Callable[[Sequence[torch.Tensor]], list] = call if self.leading is None else self._flat(call, self.leading)

    def _flat(self, call: Callable[[Sequence[torch.Tensor]], list], leading: tuple[int, ...]) -> Callable[[Sequence[torch.Tensor]], list]:
        """call, with the leading dims as one."""
        count = math.prod(leading)

        def run(tensors: Sequence[torch.Tensor]) -> list:
            made = call([t.reshape(count, t.shape[-1]) if r else t for t, r in zip(tensors, self.rows_in)])
            return [m.view(*leading, m.shape[-1]) if r and m is not None else m for m, r in zip(made, self.rows_out)]
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
            if all(a is b for a, b in zip(packed, tensors)) or row.declines(self.direction, packed, self.attributes):
                raise refusal(f"{self.op}/{row.name}", str(e), self.direction) from None
            made = self.launch(packed)
        if row.fresh:
            return made
        storages = {t.untyped_storage().data_ptr() for t in tensors if t.numel()}
        return [m.clone() if m is not None and m.numel() and m.untyped_storage().data_ptr() in storages else m for m in made]


def step(op: str, row: Any, direction: str, dtype: str, attributes: Mapping[str, Any], results: Sequence[tuple], dtypes: Sequence[str], **rows: Any) -> Step:
    """A step, ready to run. UsageError where the implementation has no such pass; dtypes are those that the pass of the operator has."""
    if not row.outputs(direction, dtype):
        taken = [d for d in dtypes if row.outputs(direction, d)]
        raise refusal(f"{op}/{row.name}", f"it has no {direction} in {dtype}" + f": it takes {', '.join(taken)}" * bool(taken))
    return Step(op, row, direction, dtype, attributes, results, row.prepared(direction, dtype, attributes, results), **rows)


def no_second(name: str) -> Exception:
    """A backward kernel is not differentiated: a gradient of a gradient would be wrong without a word."""
    return RuntimeError(f"{name} backward has no derivative: call backward without create_graph")


@dataclass
class Plan:
    """A call that is settled. Its backward is there where an input requires a gradient. Called with the tensors it gives what the caller gets."""

    forward: Step
    kept: Sequence[int]  # the outputs that the caller gets
    backward: Step | None = None
    sources: Sequence[int] = ()  # of the backward's inputs: an input, behind the inputs an output; -1 - n: the gradient of the n-th kept output
    of: Sequence[int] = ()  # of the backward's outputs: the input whose gradient it is
    remembered: bool = False  # by the C++ part as well

    def __post_init__(self) -> None:
        self.saved = [s for s in self.sources if s >= 0]
        self.run = self.forward.run
        self.one = self.kept[0] if len(self.kept) == 1 else None

    def __call__(self, tensors: Sequence[torch.Tensor]) -> Any:
        if self.backward is not None:
            return _through(self, *tensors)
        made = self.run(tensors)
        return made[self.one] if self.one is not None else tuple([made[k] for k in self.kept])


class _Through(torch.autograd.Function):
    """A plan under autograd. What only the backward needs is no output here."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, *tensors: torch.Tensor) -> Any:
        made = plan.run(tensors)
        ctx.plan = plan
        known = (*tensors, *made)
        ctx.save_for_backward(*[known[s] for s in plan.saved])
        return made[plan.one] if plan.one is not None else tuple([made[k] for k in plan.kept])

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple:
        plan: Plan = ctx.plan
        assert plan.backward is not None
        if torch.is_grad_enabled():
            raise no_second(f"{plan.backward.op}/{plan.backward.row.name}")
        saved = iter(ctx.saved_tensors)
        made = plan.backward.run([next(saved) if s >= 0 else grads[-1 - s] for s in plan.sources])
        needed = ctx.needs_input_grad
        out: list[torch.Tensor | None] = [None] * len(needed)
        for i, gradient in zip(plan.of, made):
            if needed[1 + i]:
                out[1 + i] = gradient
        return tuple(out)


# What Function.apply does in Python before this is for the transforms of torch.func: none is there, see plain.
_through = super(torch.autograd.Function, _Through).apply
