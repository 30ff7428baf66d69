"""top_k: values[r,i] = x[r, indices[r,i]]: the k largest elements of each row, falling, with their columns

Layout   x: [rows, cols] with any strides; values, indices: [rows, k], contiguous. fp32, fp16, bf16; indices
         int32. An element is copied: -0 stays -0.
Limits   1 <= k <= cols. NaN before everything, then falling; 0 and -0 are equal, of equal elements any comes
         first.
Source   Batcher 1968, Sorting networks and their applications (bitonic)
  triton/bitonic  a tile of whole rows per program, sorted as integers; cols <= 32768
  torch/eager     torch.topk
  torch/compile   the same through Inductor
  quack/kernel    quack-kernels' bitonic network, in whose sorted numbers the lowest bits are the column
"""

import torch

from implementation import (
    INTERPRETED,
    Implementation,
    aligned,
    beside_peers,
    ceildiv,
    compile_for,
    next_power_of_2,
    tl,
    triton,
)

DIFFERENTIABLE = ()  # of the inputs of reference
ROW_COLS = 32768  # the widest row that a program sorts
TILE = 65536 if INTERPRETED else 2048  # elements of a tile, unless one row has more


@triton.jit
def _keys(x, BITS: tl.constexpr):
    """An integer for each element of so many bits that falls as the order of top_k does: the best is the
    smallest. It fills the low half of its type."""
    if BITS == 32:
        bits = x.to(tl.uint32, bitcast=True).to(tl.int64)
    else:
        bits = x.to(tl.uint16, bitcast=True).to(tl.int32)
    magnitude = bits & ((1 << (BITS - 1)) - 1)
    value = x.to(tl.float32)
    return tl.where(value != value, -(1 << (BITS - 1)), tl.where(bits == magnitude, -magnitude, magnitude))


@triton.jit
def _halves(x, STRIDE: tl.constexpr):
    """x [rows, cols] as the elements that are to be compared, each with the one STRIDE columns on."""
    rows: tl.constexpr = x.shape[0]
    pairs: tl.constexpr = x.shape[1] // (2 * STRIDE)
    return tl.split(tl.permute(tl.reshape(x, [rows, pairs, 2, STRIDE]), (0, 1, 3, 2)))


@triton.jit
def _exchange(x, SIZE: tl.constexpr, STRIDE: tl.constexpr):
    """Puts the elements of each pair in order: rising in the first run of SIZE columns, falling in the next,
    by turns."""
    a, b = _halves(x, STRIDE)
    run = tl.arange(0, x.shape[1] // (2 * STRIDE))[None, :, None] // (SIZE // (2 * STRIDE))
    swap = (a > b) == (run % 2 == 0)
    pairs = tl.join(tl.where(swap, b, a), tl.where(swap, a, b))
    return tl.reshape(tl.permute(pairs, (0, 1, 3, 2)), [x.shape[0], x.shape[1]])


@triton.jit
def _merge(x, SIZE: tl.constexpr, LOG_SIZE: tl.constexpr):
    """Sorts runs of SIZE columns, each of which rises and then falls or the other way round."""
    for step in tl.static_range(LOG_SIZE):
        x = _exchange(x, SIZE, SIZE >> (step + 1))
    return x


@triton.jit
def _top_k_kernel(x_ptr, values_ptr, indices_ptr, rows, cols, k, x_row, x_col, BITS: tl.constexpr,
                  ROWS: tl.constexpr, LOG_COLS: tl.constexpr, LOG_K: tl.constexpr):
    """A tile of ROWS whole rows, 2^LOG_COLS >= cols, 2^LOG_K >= k. Key and column make one integer; what lies
    beyond the row is larger than all others. Runs of 2^LOG_K are sorted, and of two runs the better half
    stays, until one is left."""
    r = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    c = tl.arange(0, 1 << LOG_COLS)[None, :]
    inside = (r < rows) & (c < cols)
    x = tl.load(x_ptr + r * x_row + c.to(tl.int64) * x_col, mask=inside, other=0.0)
    best = (tl.where(inside, _keys(x, BITS), (1 << (BITS - 1)) - 1) << BITS) | c
    for log in tl.static_range(1, LOG_K + 1):
        best = _merge(best, 1 << log, log)
    for _ in tl.static_range(LOG_COLS - LOG_K):
        a, b = _halves(best, 1 << LOG_K)
        best = tl.reshape(tl.minimum(a, b), [ROWS, best.shape[1] // 2])
        best = _merge(best, 1 << LOG_K, LOG_K)
    at = (best & ((1 << BITS) - 1)).to(tl.int64)
    i = tl.arange(0, 1 << LOG_K)[None, :]
    wanted = (r < rows) & (i < k)
    value = tl.load(x_ptr + r * x_row + at * x_col, mask=wanted)
    tl.store(values_ptr + r * k + i, value, mask=wanted)
    tl.store(indices_ptr + r * k + i, at.to(tl.int32), mask=wanted)


def forward(x, *, k):
    """x [rows, cols] -> values [rows, k] of its dtype, indices [rows, k] int32."""
    rows, cols = x.shape
    values = torch.empty((rows, k), dtype=x.dtype, device=x.device)
    indices = torch.empty((rows, k), dtype=torch.int32, device=x.device)
    if rows:
        columns = next_power_of_2(cols)
        tile = max(1, min(TILE // columns, next_power_of_2(rows)))
        _top_k_kernel[(ceildiv(rows, tile),)](
            x, values, indices, rows, cols, k, *x.stride(), BITS=8 * x.element_size(), ROWS=tile,
            LOG_COLS=columns.bit_length() - 1, LOG_K=next_power_of_2(k).bit_length() - 1,
            num_warps=4 if columns <= 4096 else 16)
    return values, indices


def accepts(direction, x, *, k):
    """What triton/bitonic takes."""
    return None if x.shape[1] <= ROW_COLS else f"cols {x.shape[1]} is more than {ROW_COLS}"


def reference(x, *, k):
    """The k largest elements and their columns in torch, in the dtype of x."""
    values, indices = torch.topk(x, k, dim=1)
    return values, indices.to(torch.int32)


def _quack(x, *, k):
    from quack.topk import topk_fwd
    return topk_fwd(aligned(x), k)


def _accepts_quack(direction, x, *, k):
    for what, size, least, most in (("cols", x.shape[1], 8, 4096), ("k", k, 1, 128)):
        if size & size - 1 or not least <= size <= most:
            return f"top_k/quack/kernel: {what} {size} is no power of two from {least} to {most}"
    return None


_NAMES = {"outputs": ("values", "indices"), "contract": "exact"}

IMPLEMENTATIONS = [
    Implementation("triton/bitonic", forward, accepts=accepts, constraint=f"cols <= {ROW_COLS}", **_NAMES),
    Implementation("torch/eager", reference, **_NAMES),
    *beside_peers(Implementation("torch/compile", compile_for(reference), compiled=True, **_NAMES)),
    # In fp32 the column would take the place of the last bits of the number.
    Implementation("quack/kernel", _quack, module="quack.topk", accepts=_accepts_quack,
                   dtypes=("fp16", "bf16"), constraint="powers of two: 8 to 4096 cols, k to 128", **_NAMES),
]
