"""The rows of linear_cross_entropy that are not ours: torch's, Liger-Kernel's and cut-cross-entropy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from implementation import Implementation, beside_peers, compile_for, differentiable_row, gradients

PLACES = 3, (0, 1)
"""How many inputs the functions have, and which are differentiable."""


def rows_of_others(eager: Callable[..., Any], reference: Callable[..., Any], names: dict[str,
    Any]) -> list[Implementation]:
    """The rows torch/eager, torch/compile of the reference, liger/kernel, cce/kernel and cce/filtered; names
    are those of its results, and its contract."""
    def whole(hidden, weight, target, *, ignore_index, reduction):
        hidden = hidden.where((target != ignore_index)[:, None], 0)  # whatever it holds
        return reference(hidden, weight, target, ignore_index=ignore_index, reduction=reduction)[0]

    peer = names | {"accepts": _accepts_tokens, "constraint": "at least one token"}
    cce = peer | {"module": "cut_cross_entropy", "dtypes": ("fp16", "bf16")}
    return [
        differentiable_row("torch/eager", eager, *PLACES, **names),
        *beside_peers(differentiable_row("torch/compile", compile_for(whole), *PLACES, compiled=True,
                                         **names)),
        Implementation("liger/kernel", _liger, _liger_backward, recomputes=True,
                       module="liger_kernel.ops.fused_linear_cross_entropy", **peer),
        differentiable_row("cce/kernel", _cce(None), *PLACES, **cce),
        differentiable_row("cce/filtered", _cce("high"), *PLACES, **cce),
    ]


def _liger(hidden, weight, target, *, ignore_index, reduction):
    from liger_kernel.ops.fused_linear_cross_entropy import LigerFusedLinearCrossEntropyFunction
    return LigerFusedLinearCrossEntropyFunction.apply(
        hidden, weight, target, None, None, ignore_index, 0.0, 0.0, reduction, None, False,
        torch.float32)[0].reshape(-1)


def _liger_backward(hidden, weight, target, grad_loss, **attributes):
    return gradients(_liger, (hidden, weight, target), (grad_loss,), (0, 1), **attributes)


def _cce(filtering):
    """cut-cross-entropy's loss; filtering is which gradients it leaves out."""
    def loss(hidden, weight, target, *, ignore_index, reduction):
        from cut_cross_entropy import linear_cross_entropy
        return linear_cross_entropy(hidden, weight, target, ignore_index=ignore_index, reduction=reduction,
                                    filter_eps=filtering).reshape(-1)
    return loss


def _accepts_tokens(direction, hidden, *rest, **attributes):
    return None if hidden.shape[0] else "a peer's row takes at least one token"
