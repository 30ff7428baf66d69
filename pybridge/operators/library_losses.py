"""The rows of cross_entropy that are not ours: torch's, Liger-Kernel's and quack-kernels'."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from implementation import Implementation, aligned, compile_for, differentiable_row, gradients


def rows_of_others(plain: Callable[..., Any], names: dict[str, Any]) -> list[Implementation]:
    """The rows torch/eager and torch/compile of a function of logits and targets, liger/kernel and
    quack/kernel; names are those of its results."""
    return [
        differentiable_row("torch/eager", plain, 2, (0,), **names),
        differentiable_row("torch/compile", compile_for(plain), 2, (0,), compiled=True, **names),
        Implementation("liger/kernel", _liger, _liger_backward, recomputes=True,
                       accepts=_accepts_rows, module="liger_kernel.ops.cross_entropy",
                       constraint="at least one row",
                       remark="it overwrites the logits: a copy of them is in the time", **names),
        differentiable_row("quack/kernel", _quack, 2, (0,), module="quack.cross_entropy",
                           accepts=_accepts_quack,
                           constraint="label_smoothing 0; in 16 bits an even number of classes", **names),
    ]


def _liger(logits, target, *, ignore_index, label_smoothing, reduction):
    from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction
    return LigerCrossEntropyFunction.apply(logits.clone(), target, None, ignore_index, 0.0, label_smoothing,
                                           reduction)[0].reshape(-1).float()


def _liger_backward(logits, target, grad_loss, **attributes):
    return gradients(_liger, (logits, target), (grad_loss,), (0,), **attributes)


def _accepts_rows(direction, logits, *rest, **attributes):
    return None if logits.shape[0] else "Liger-Kernel: it takes the maximum of the targets"


def _quack(logits, target, *, ignore_index, label_smoothing, reduction):
    from quack.cross_entropy import cross_entropy
    return cross_entropy(aligned(logits), target, ignore_index=ignore_index, reduction=reduction).reshape(-1)


def _accepts_quack(direction, logits, *rest, label_smoothing, **attributes):
    if label_smoothing:
        return "quack-kernels: it smooths no labels"
    classes = logits.shape[1]
    if logits.itemsize * classes % 4:  # its compiler refuses an asynchronous copy of 2 bytes
        return f"quack-kernels: it copies 4 bytes at least, and {classes} logits of 16 bits are an odd number"
    return None
