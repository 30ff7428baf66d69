"""top_k: values[r,i] = x[r, indices[r,i]]: the k largest elements of each row, falling, with their columns

Layout   x: [rows, cols] with any strides; values, indices: [rows, k], contiguous. fp32, fp16, bf16; indices int32.
Limits   1 <= k <= cols. NaN before everything, then falling; 0 and -0 are equal, of equal elements any comes first.
         An element is copied: -0 stays -0.
Source   Batcher 1968, Sorting networks and their applications (bitonic)
  triton/bitonic  a tile of whole rows per program, sorted as integers; cols <= 16384
  torch/eager     torch.topk
"""

import torch

from implementation import (
    INTERPRETED,
    Implementation,
    ceildiv,
    next_power_of_2,
    tl,
    triton,
)

DIFFERENTIABLE = ()  # of the inputs of reference
ROW_COLS = 16384  # the widest row that a program sorts
TILE = 16384 if INTERPRETED else 2048  # elements of a tile, unless one row has more


@triton.jit
def _keys(x):
    """An int32 for each fp32 that falls as the order of top_k does: the best is the smallest."""
    bits = x.to(tl.int32, bitcast=True)
    rising = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    rising = tl.where(x == 0, 0, rising)  # -0 too
    return tl.where(x != x, -2147483648, ~rising)


@triton.jit
def _top_k_kernel(x_ptr, values_ptr, indices_ptr, rows, cols, k, x_row, x_col, ROWS: tl.constexpr,
                  COLS: tl.constexpr):
    """A tile of ROWS whole rows, COLS >= cols. Key and column make one int64, which tl.sort sorts: the column
    of what lies beyond the row is past all others, so that it comes last among the largest keys."""
    r = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    c = tl.arange(0, COLS)[None, :]
    inside = (r < rows) & (c < cols)
    x = tl.load(x_ptr + r * x_row + c.to(tl.int64) * x_col, mask=inside, other=float("-inf")).to(tl.float32)
    key = tl.where(inside, _keys(x), 2147483647)
    best = tl.sort((key.to(tl.int64) << 32) | c.to(tl.int64), dim=1)
    at = best & 0xFFFFFFFF
    wanted = (r < rows) & (c < k)
    value = tl.load(x_ptr + r * x_row + at * x_col, mask=wanted)
    tl.store(values_ptr + r * k + c, value, mask=wanted)
    tl.store(indices_ptr + r * k + c, at.to(tl.int32), mask=wanted)


def forward(x, *, k):
    """x [rows, cols] -> values [rows, k] of its dtype, indices [rows, k] int32."""
    rows, cols = x.shape
    values = torch.empty((rows, k), dtype=x.dtype, device=x.device)
    indices = torch.empty((rows, k), dtype=torch.int32, device=x.device)
    if rows:
        columns = next_power_of_2(cols)
        tile = max(1, min(TILE // columns, next_power_of_2(rows)))
        _top_k_kernel[(ceildiv(rows, tile),)](x, values, indices, rows, cols, k, *x.stride(), ROWS=tile,
                                              COLS=columns)
    return values, indices


def accepts(direction, x, *, k):
    """What triton/bitonic takes."""
    return None if x.shape[1] <= ROW_COLS else f"cols {x.shape[1]} is more than {ROW_COLS}"


def reference(x, *, k):
    """The k largest elements and their columns in torch, in the dtype of x."""
    values, indices = torch.topk(x, k, dim=1)
    return values, indices.to(torch.int32)


_NAMES = {"outputs": ("values", "indices"), "contract": "exact"}

IMPLEMENTATIONS = [
    Implementation("triton/bitonic", forward, accepts=accepts, constraint=f"cols <= {ROW_COLS}", **_NAMES),
    Implementation("torch/eager", reference, **_NAMES),
]
