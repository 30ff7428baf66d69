"""Inputs that say where a kernel reads: offsets, targets and lengths are looked at before
it does."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from triad.errors import UsageError

Place = tuple[int, str, list[str]]
"""Which input it is, its name, and the words of its fill in the spec (internal/op/fill.go)."""


def among(declared: Sequence[Mapping[str, Any]]) -> list[Place]:
    """The inputs of a spec that are offsets, classes or lengths."""
    return [(i, t["name"], t["fill"].split()) for i, t in enumerate(declared)
            if t["fill"].startswith(("offsets ", "classes ", "lengths "))]


def look(op: str, found: Sequence[Place], tensors: Sequence[torch.Tensor], values: Mapping[str, Any],
         attributes: Mapping[str, Any]) -> None:
    """UsageError where offsets do not rise to the size that they cut, a target is no class, or a length is
    below 0 or beyond the size. It looks at the data: on a GPU it waits for offsets and lengths, and while a
    graph is captured it looks at nothing. For targets there it does not wait, since every step of a training
    has some: the GPU stops at a wrong one, as at one of torch's own loss, and what asks it next gets the
    error."""
    for i, name, (kind, *words) in found:
        x = tensors[i]
        if x.is_cuda and torch.cuda.is_current_stream_capturing():
            continue
        n = values[words[1]] if words[1] in values else attributes[words[1]]
        if kind == "lengths" and x.numel() and not 0 <= int(x.min()) <= int(x.max()) <= n:
            wrong = x[(x < 0) | (x > n)]
            raise UsageError(f"{op}: {name} has {int(wrong[0])}: want 0 to {n}")
        if kind == "offsets" and not bool((x[0] == 0) & (x[-1] == n) & (x[1:] >= x[:-1]).all()):
            raise UsageError(f"{op}: {name} is {_few(x)}: want integers that rise from 0 to {n}")
        if kind == "classes":
            ignored = attributes[words[-1]]
            # Four kernels, where comparisons take eight: a right one has passed an odd number of ends.
            is_right = torch.bucketize(x, _ends(n, ignored, x.dtype, x.device), right=True, out_int32=True)
            is_right.bitwise_and_(1)
            if x.is_cuda:
                why = f"{op}: {name} has a value that is none of 0 to {n - 1}, nor {ignored}"
                torch._assert_async(is_right.all(), why)
                continue
            wrong = x[is_right == 0]
            if wrong.numel():
                raise UsageError(f"{op}: {name} has {int(wrong[0])}: want 0 to {n - 1}, or {ignored}")


@functools.lru_cache(maxsize=100)
def _ends(n: int, ignored: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Where classes and the ignored one begin and end. A thread of its own makes them: what this one
    allocates may be a CUDA graph's of torch.compile, which nothing outlives, and modes of torch are this
    one's too."""
    known = torch.iinfo(dtype)
    outside = not 0 <= ignored < n and known.min <= ignored <= known.max
    alone = [end for end in (ignored, ignored + 1) if end <= known.max] if outside else []
    with ThreadPoolExecutor(1) as one:
        return one.submit(torch.tensor, sorted([0, n, *alone]), dtype=dtype, device=device).result()


def _few(x: torch.Tensor) -> str:
    return str(x.tolist()) if x.numel() <= 8 else f"[{x[0]}, {x[1]}, ..., {x[-1]}]"
