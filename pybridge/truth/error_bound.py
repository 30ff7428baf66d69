"""How far a right kernel may be from the fp64 value of a torch function: a running error analysis.

A Bounded tensor (bounded.py) carries the fp64 value r of an intermediate, e, how far fp32 arithmetic may have
moved it from there, and s, the value under the rounding points of a contract. Every aten operation has a
form, and every form a rule (error_bound_rules.py):

    one operation     T(a + b) = T_a + T_b + u*|a + b|
                      T(a * b) = |a|*T_b + |b|*T_a + T_a*T_b + u*|a * b|
    a function        T(f(a)) = the largest |f(a +- T_a) - f(a)| + k*u*|f(a)|, k twice the error that
                      CUDA documents for f, in units in the last place
    a reduction       T(sum x) = sum T_x + u*g(n)*sum(|x| + T_x)
    a product         T(A B) = |A| T_B + T_A |B| + T_A T_B + u*g(k)*(|A| + T_A)(|B| + T_B)
    moving            T of what is moved
    a rounding point  T + u_d*(|x| + T) + half the smallest subnormal of d

with u = 2^-24 (2^-53 under the contract "fp64", which says how far fp64 itself may round) and g(n) = min(n,
8*sqrt(n) + n/16) + 4, or n + 4 where the terms of a sum are equal (docs/judge.md). The same rules hold for
what autograd does, since its operations come through here too.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

import bounded_choices
import bounded_complex  # noqa: F401  (these fill in the tables of bounded, and import what does so before)
import bounded_linear  # noqa: F401
from bounded import Bounded, Made, UnknownForm, exactly, given, rules, stored_as
from tensors import DTYPES, is_number

__all__ = ["Bounded", "UnknownForm", "chained", "compute"]


def compute(function: Callable, tensors: tuple, attributes: dict[str, Any], contract: str, dtype: torch.dtype,
            equal_terms: bool, count: int,
            upstream: dict[int, torch.Tensor] | None = None,
            differentiable: tuple[int, ...] = ()) -> list[Bounded | None]:
    """function(*tensors, **attributes), which gives count tensors, with the error bound of each; with
    upstream, the gradients of its outputs by their number, those of the differentiable inputs instead."""
    rules.begin(contract, dtype, equal_terms)
    if upstream is None:
        def run() -> list[torch.Tensor]:
            with torch.no_grad(), Made():
                return _tensors(function(*(given(x) if is_number(x) else x for x in tensors), **attributes),
                                count)
        return bounded_choices.settled(run)
    inputs = [given(x) if is_number(x) else x for x in tensors]
    with torch.enable_grad(), Made():
        for i in differentiable:
            inputs[i].requires_grad_()
        outputs = _listed(function(*inputs, **attributes), count)
        pairs = [(outputs[i], exactly(g)) for i, g in upstream.items() if isinstance(outputs[i], torch.Tensor)
                 and outputs[i].requires_grad]
        wanted = [inputs[i] for i in differentiable]
        if not pairs:
            return [exactly(torch.zeros_like(x.r)) for x in wanted]
        return list(torch.autograd.grad([o for o, _ in pairs], wanted, [g for _, g in pairs],
                                        allow_unused=True, materialize_grads=True))


def chained(forward: Callable, backward: Callable, plan: str, tensors: tuple, count: int,
            attributes: dict[str, Any], contract: str, dtype: torch.dtype,
            equal_terms: bool, gradients: int) -> list[Bounded]:
    """backward behind forward, whose saved outputs were stored in between. Each word of plan is an argument
    of backward: t2 is tensors[2], o0:fp16 forward's output 0 stored in fp16. forward takes the first count
    tensors."""
    rules.begin(contract, dtype, equal_terms)
    inputs = [given(x) if is_number(x) else x for x in tensors]
    with torch.no_grad():
        outputs = forward(*inputs[:count], **attributes)
        outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        args = []
        for word in plan.split():
            number, _, stored = word[1:].partition(":")
            args.append(inputs[int(number)] if word[0] == "t" else stored_as(outputs[int(number)],
                DTYPES[stored]))
        return _listed(backward(*args, **attributes), gradients)


def _listed(value: Any, count: int) -> list[Bounded]:
    """What a function returned, which must be count tensors."""
    return [v if isinstance(v, Bounded) else exactly(v) for v in _tensors(value, count)]


def _tensors(value: Any, count: int) -> list[torch.Tensor]:
    """What a function returned, which must be count tensors; some may be without error bounds."""
    values = list(value) if isinstance(value, (tuple, list)) else [value]
    if len(values) != count or not all(isinstance(v, torch.Tensor) for v in values):
        kinds = ", ".join("a tensor" if isinstance(v, torch.Tensor) else type(v).__name__ for v in values)
        raise TypeError(f"it returns {kinds}: want {count} tensor{'s' * (count != 1)}")
    return values
