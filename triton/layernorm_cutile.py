"""layernorm over the last dimension in cuTile: y = (x - mean) * rstd * weight + bias, with mean = sum_c x /
cols, rstd = 1 / sqrt(sum_c (x - mean)^2 / cols + eps)

Layout, limits and contract are those of layernorm.py; forward alone.
  cutile/row  a tile of whole rows per block; cols <= 32768
"""

import torch

from cutile import WHOLE_ROWS, accepts_row, by_tma, ct, launch, tile
from implementation import Implementation, ceildiv


@ct.kernel
def _layernorm_fwd(x, weight, bias, y, mean, rstd, eps, ROWS: ct.Constant[int], COLS: ct.Constant[int],
                   TMA: ct.Constant[bool]):
    i = ct.bid(0)
    s = ct.load(x, (i, 0), (ROWS, COLS), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    cols = ct.astype(x.shape[1], ct.float32)
    centre = ct.sum(s, 1, keepdims=True) / cols
    inside = (ct.arange(COLS, dtype=ct.int32) < x.shape[1]).reshape((1, COLS))
    centred = ct.where(inside, s - centre, 0.0)
    inverse = ct.rsqrt(ct.sum(centred * centred, 1, keepdims=True) / cols + eps)
    w = ct.load(weight, (0,), (COLS,), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    b = ct.load(bias, (0,), (COLS,), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    out = centred * inverse * w.reshape((1, COLS)) + b.reshape((1, COLS))
    ct.store(y, (i, 0), out.astype(y.dtype), allow_tma=TMA)
    ct.store(mean, (i,), centre.reshape((ROWS,)), allow_tma=False)
    ct.store(rstd, (i,), inverse.reshape((ROWS,)), allow_tma=False)


def forward(x, weight, bias, *, eps):
    """x [rows, cols], weight, bias [cols] -> y [rows, cols] of x's dtype, mean and rstd [rows] fp32."""
    rows, cols = x.shape
    y = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    mean, rstd = (torch.empty(rows, dtype=torch.float32, device=x.device) for _ in range(2))
    if rows:
        count, width = tile(rows, cols)
        launch(_layernorm_fwd, ceildiv(rows, count), x, weight, bias, y, mean, rstd, eps, count, width,
               by_tma(y))
    return y, mean, rstd


IMPLEMENTATIONS = [
    Implementation("cutile/row", forward, outputs=("y", "mean", "rstd"), module="cuda.tile",
                   accepts=accepts_row, constraint=WHOLE_ROWS),
]
