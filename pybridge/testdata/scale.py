"""scale: y = 2x, and what can go wrong on the way. Only torch/right does what it should."""

import os
import time

import torch
from implementation import Implementation


def _row(name, function, **more):
    return Implementation(f"torch/{name}", function, outputs=("y",), dtypes=("fp32",), **more)


def _scribbles(x):
    y = x * 2
    x[0] = 7.0
    return y


def _raises(x):
    raise ValueError("no such shape")


def _exits(x):
    os._exit(7)


def _hangs(x):
    while True:
        time.sleep(1)


def _declines(direction, x):
    return f"{x.shape[0]} elements are too many"


IMPLEMENTATIONS = [
    _row("right", lambda x: x * 2),
    _row("declines", lambda x: x * 2, accepts=_declines),
    _row("silent", torch.empty_like),
    _row("scribbles", _scribbles),
    _row("raises", _raises),
    _row("exits", _exits),
    _row("hangs", _hangs),
    _row("full", lambda x: torch.empty(1 << 60)),
]
