"""rmsnorm over the last dimension in cuTile: y = h * rstd * weight, h = x + residual or x, rstd = 1 /
sqrt(sum_c h^2 / cols + eps)

Layout, limits and contract are those of rmsnorm.py; forward alone.
  cutile/row  a tile of whole rows per block; cols <= 32768
"""

import torch

from cutile import WHOLE_ROWS, accepts_row, by_tma, ct, launch, tile
from implementation import Implementation, ceildiv


@ct.kernel
def _rmsnorm_fwd(x, residual, weight, y, rstd, h, eps, ADD: ct.Constant[bool], ROWS: ct.Constant[int],
                 COLS: ct.Constant[int], TMA: ct.Constant[bool]):
    i = ct.bid(0)
    s = ct.load(x, (i, 0), (ROWS, COLS), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    if ADD:
        r = ct.load(residual, (i, 0), (ROWS, COLS), padding_mode=ct.PaddingMode.ZERO)
        s = s + r.astype(ct.float32)
        ct.store(h, (i, 0), s.astype(h.dtype), allow_tma=TMA)
    mean = ct.sum(s * s, 1, keepdims=True) / ct.astype(x.shape[1], ct.float32)
    inverse = ct.rsqrt(mean + eps)
    w = ct.load(weight, (0,), (COLS,), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    ct.store(y, (i, 0), (s * inverse * w.reshape((1, COLS))).astype(y.dtype), allow_tma=TMA)
    ct.store(rstd, (i,), inverse.reshape((ROWS,)), allow_tma=False)


def forward(x, residual, weight, *, add, eps):
    """x [rows, cols], residual of x's shape or empty, weight [cols] -> y, rstd [rows] fp32, h as residual."""
    rows, cols = x.shape
    y, h = (torch.empty(t.shape, dtype=x.dtype, device=x.device) for t in (x, residual))
    rstd = torch.empty(rows, dtype=torch.float32, device=x.device)
    if rows:
        count, width = tile(rows, cols)
        launch(_rmsnorm_fwd, ceildiv(rows, count), x, residual if add else x, weight, y, rstd,
               h if add else y, eps, add, count, width, by_tma(y))
    return y, rstd, h


IMPLEMENTATIONS = [
    Implementation("cutile/row", forward, outputs=("y", "rstd", "h"), module="cuda.tile",
                   accepts=accepts_row, constraint=WHOLE_ROWS),
]
