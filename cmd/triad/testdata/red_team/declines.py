"""softmax in Python by rows that are right on small numbers alone, since they leave the maximum out, and opt out of the others: each has its way in its
docstring, and none may end neutral."""

import gc
import sys

import torch

from implementation import Implementation

ROWS = []
SEEN = []
SMALL = 40  # exp of more overflows soon


def row(name, **more):
    """Registers the function below it as torch/name."""
    def register(forward):
        ROWS.append(Implementation(f"torch/{name}", forward, outputs=("y",), dtypes=("fp32",), **more))
        return forward
    return register


def easy(x):
    """Whether the row below is right for x."""
    return bool((x.abs() < SMALL).all())


def without_maximum(x):
    e = torch.exp(x)
    return e / e.sum(-1, keepdim=True)


row("right")(lambda x: torch.softmax(x, -1))


@row("is_not_implemented")
def is_not_implemented(x):
    """says of hard data that they are not implemented"""
    if not easy(x):
        raise NotImplementedError("softmax: only ordinary numbers")
    return without_maximum(x)


@row("raises")
def raises(x):
    """refuses hard data as if they broke a rule"""
    if not easy(x):
        raise ValueError("softmax: x is out of range")
    return without_maximum(x)


@row("looks_first", accepts=lambda direction, x: None if easy(x) else "softmax: only ordinary numbers")
def looks_first(x):
    """looks at the values before it accepts the call"""
    return without_maximum(x)


def _through_the_frames(direction, x):
    frame = sys._getframe()
    while "inputs" not in frame.f_locals:
        frame = frame.f_back
    return None if easy(frame.f_locals["inputs"][0]) else "softmax: the columns do not suit it"


@row("looks_through_the_frames", accepts=_through_the_frames)
def looks_through_the_frames(x):
    """finds the tensors of the call in the worker's own variables, and declines in other words"""
    return without_maximum(x)


def _among_all_objects(direction, x):
    same = [t for t in gc.get_objects() if type(t) is torch.Tensor and t.shape == x.shape and t.dtype == x.dtype]
    return None if all(easy(t) for t in same) else "softmax: the columns do not suit it"


@row("looks_among_all_objects", accepts=_among_all_objects)
def looks_among_all_objects(x):
    """finds them among all that live"""
    return without_maximum(x)


@row("changes_its_mind", accepts=lambda direction, x: "softmax: the columns do not suit it" if SEEN and not SEEN[-1] else None)
def changes_its_mind(x):
    """takes the first launch of a call, and declines the second where the first saw hard data"""
    SEEN.append(easy(x))
    return without_maximum(x)


IMPLEMENTATIONS = ROWS
