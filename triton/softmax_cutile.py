"""softmax over the last dimension in cuTile: y[r,c] = exp(x[r,c] - max_r) / sum_c exp(x[r,c] - max_r)
backward: grad_x = y * (grad_y - sum_c y * grad_y)

Layout, limits and contract are those of softmax.py. cuTile's max leaves NaN out unless it is asked not to,
and a tile's part outside an array has no defined value unless one is named: both are named here.
  cutile/row     a tile of whole rows per block; cols <= 32768
  cutile/online  a tile of rows per block, running maximum and sum over blocks of columns; any cols
"""

import torch

from cutile import WHOLE_ROWS, accepts_row, by_tma, ct, launch, tile
from implementation import Implementation, ceildiv, next_power_of_2

ONLINE_COLS = 4096  # columns of a step of cutile/online
INF = float("inf")


@ct.kernel
def _softmax_fwd_row(x, y, ROWS: ct.Constant[int], COLS: ct.Constant[int], TMA: ct.Constant[bool]):
    i = ct.bid(0)
    s = ct.load(x, (i, 0), (ROWS, COLS), padding_mode=ct.PaddingMode.NEG_INF).astype(ct.float32)
    e = ct.exp(s - ct.max(s, 1, keepdims=True, propagate_nan=True))
    ct.store(y, (i, 0), (e / ct.sum(e, 1, keepdims=True)).astype(y.dtype), allow_tma=TMA)


@ct.kernel
def _softmax_bwd_row(y, dy, dx, ROWS: ct.Constant[int], COLS: ct.Constant[int], TMA: ct.Constant[bool]):
    i = ct.bid(0)
    p = ct.load(y, (i, 0), (ROWS, COLS), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    g = ct.load(dy, (i, 0), (ROWS, COLS), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    ct.store(dx, (i, 0), (p * (g - ct.sum(p * g, 1, keepdims=True))).astype(dx.dtype), allow_tma=TMA)


@ct.kernel
def _softmax_fwd_online(x, y, ROWS: ct.Constant[int], COLS: ct.Constant[int], TMA: ct.Constant[bool]):
    """One pass for maximum m and sum l, one that writes."""
    i = ct.bid(0)
    m = ct.full((ROWS, 1), -INF, ct.float32)
    l = ct.zeros((ROWS, 1), ct.float32)
    for j in range(ct.num_tiles(x, 1, (ROWS, COLS))):
        s = ct.load(x, (i, j), (ROWS, COLS), padding_mode=ct.PaddingMode.NEG_INF).astype(ct.float32)
        m_new = ct.maximum(m, ct.max(s, 1, keepdims=True, propagate_nan=True), propagate_nan=True)
        # As long as a row has shown only -inf there is nothing to rescale, and -inf - -inf would be NaN.
        shift = ct.where(m_new == -INF, 0.0, m_new)
        l = l * ct.exp(m - shift) + ct.sum(ct.exp(s - shift), 1, keepdims=True)
        m = m_new
    for j in range(ct.num_tiles(x, 1, (ROWS, COLS))):
        s = ct.load(x, (i, j), (ROWS, COLS), padding_mode=ct.PaddingMode.NEG_INF).astype(ct.float32)
        ct.store(y, (i, j), (ct.exp(s - m) / l).astype(y.dtype), allow_tma=TMA)


@ct.kernel
def _softmax_bwd_online(y, dy, dx, ROWS: ct.Constant[int], COLS: ct.Constant[int], TMA: ct.Constant[bool]):
    """One pass for sum_c y * dy, one that writes."""
    i = ct.bid(0)
    d = ct.zeros((ROWS, 1), ct.float32)
    for j in range(ct.num_tiles(y, 1, (ROWS, COLS))):
        p = ct.load(y, (i, j), (ROWS, COLS), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
        g = ct.load(dy, (i, j), (ROWS, COLS), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
        d = d + ct.sum(p * g, 1, keepdims=True)
    for j in range(ct.num_tiles(y, 1, (ROWS, COLS))):
        p = ct.load(y, (i, j), (ROWS, COLS), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
        g = ct.load(dy, (i, j), (ROWS, COLS), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
        ct.store(dx, (i, j), (p * (g - d)).astype(dx.dtype), allow_tma=TMA)


def _launch(kernel, *inputs, widest: int):
    rows, cols = inputs[0].shape
    out = torch.empty((rows, cols), dtype=inputs[0].dtype, device=inputs[0].device)
    if out.numel():
        count, width = tile(rows, min(widest, next_power_of_2(cols)))
        launch(kernel, ceildiv(rows, count), *inputs, out, count, width, by_tma(out))
    return out


def forward_row(x):
    """x [rows, cols] -> y [rows, cols] of x's dtype."""
    return _launch(_softmax_fwd_row, x, widest=x.shape[1])


def backward_row(y, grad_y):
    """y, grad_y [rows, cols] -> grad_x [rows, cols]."""
    return _launch(_softmax_bwd_row, y, grad_y, widest=y.shape[1])


def forward_online(x):
    """x [rows, cols] -> y [rows, cols] of x's dtype."""
    return _launch(_softmax_fwd_online, x, widest=ONLINE_COLS)


def backward_online(y, grad_y):
    """y, grad_y [rows, cols] -> grad_x [rows, cols]."""
    return _launch(_softmax_bwd_online, y, grad_y, widest=ONLINE_COLS)


_FACTS = {"outputs": ("y",), "gradients": ("grad_x",), "module": "cuda.tile"}

IMPLEMENTATIONS = [
    Implementation("cutile/row", forward_row, backward_row, accepts=accepts_row, constraint=WHOLE_ROWS,
                   **_FACTS),
    Implementation("cutile/online", forward_online, backward_online, **_FACTS),
]
