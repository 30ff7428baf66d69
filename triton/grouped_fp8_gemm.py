"""grouped_fp8_gemm: y[t,j] = sum_k (x[t,k] scale_x[t,k/128]) (w[g,j,k] scale_w[g,j/128,k/128])
for offsets[g] <= t < offsets[g+1]

Layout   x [tokens, k], w [groups, n, k]: e4m3, any strides; scale_x [tokens, ceil(k/128)], scale_w
         [groups, ceil(n/128), ceil(k/128)] in fp32; offsets [groups + 1] int32, rising from 0 to tokens; y
         [tokens, n] bf16, fp16 or fp32, contiguous. Every 128 of k the sum is scaled and added in fp32.
Limits   groups may be empty, and one may have every row; all sizes may be 0, and k = 0 gives zeros.
Source   DeepSeek-AI 2025, DeepGEMM: m_grouped_fp8_gemm_nt_contiguous
  triton/pointers    a fixed number of programs walk over the tiles of all groups
  triton/persistent  the same with operands read through tensor descriptors, on Hopper by the copy engine,
                     and a tile in two halves, so that the sums and what the tensor core gave fit in
                     registers. Costs: rows of 16 bytes, matrices one after the other
  torch/dequant      operands scaled in fp32, then a product in fp32 for each group
  deepgemm/kernel    DeepGEMM's for groups that begin at multiples of 128 rows, to which rows are moved

torch._scaled_grouped_mm has no row: it takes a scale a row and column, or those of mxfp8, and none of blocks.
torch.compile has none: torch's composition takes the sizes of groups from the data.
"""

import torch

from deepgemm_rows import DEEPGEMM_TAKES, declined
from fp8_tiles import BLOCK_K, TILE_MAX, accumulate, halves_of_columns
from implementation import INTERPRETED, Implementation, ceildiv, tile_side, tl, too_old, triton
from product_tiles import GROUP, PLACES, described, not_described, place

DIFFERENTIABLE = ()  # of the inputs of reference
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
PROGRAMS = 2 if INTERPRETED else 2 * PLACES


@triton.jit
def _store(y_ptr, acc, row, col, end, n, M: tl.constexpr, N: tl.constexpr):
    """Stores [M, N] sums of a group that ends before row end."""
    rm = (row + tl.arange(0, M)).to(tl.int64)
    rn = (col + tl.arange(0, N)).to(tl.int64)
    tl.store(y_ptr + rm[:, None] * n + rn[None, :], acc.to(y_ptr.dtype.element_ty),
             mask=(rm < end)[:, None] & (rn < n)[None, :])


@triton.jit
def _grouped_fp8_gemm_kernel(x_ptr, scale_x_ptr, w_ptr, scale_w_ptr, offsets_ptr, y_ptr, offset_stride,
                             groups, n, k, x_m, x_k, w_g, w_n, w_k, sx_m, sx_k, sw_g, sw_n, sw_k,
                             DESCRIBED: tl.constexpr, GROUP: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
                             K: tl.constexpr):
    """Every so-manieth [M, N] tile of all groups. DESCRIBED: x and w are descriptors, and the strides of
    them are not used."""
    programs = tl.num_programs(0)
    next_tile = tl.program_id(0)  # counted from the first tile of the group
    for g in range(0, groups):
        first = tl.load(offsets_ptr + g * offset_stride)
        end = tl.load(offsets_ptr + (g + 1) * offset_stride)
        group = (first * 0 + g).to(tl.int64)
        tiles = tl.cdiv(end - first, M) * tl.cdiv(n, N)
        for tile in range(next_tile, tiles, programs):
            row, col = place(tile, end - first, n, GROUP, M, N)
            row += first
            if DESCRIBED:
                left, right = halves_of_columns(x_ptr, w_ptr, scale_x_ptr, scale_w_ptr + group * sw_g, row,
                                                col, g * n + col, end, k, sx_m, sx_k, sw_n, sw_k, M, N, K)
                _store(y_ptr, left, row, col, end, n, M, N // 2)
                _store(y_ptr, right, row, col + N // 2, end, n, M, N // 2)
            else:
                rm = (row + tl.arange(0, M)).to(tl.int64)
                rn = (col + tl.arange(0, N)).to(tl.int64)
                acc = accumulate(x_ptr, scale_x_ptr, w_ptr + group * w_g, scale_w_ptr + group * sw_g, rm, rn,
                                 end, n, k, 0, tl.cdiv(k, K), x_m, x_k, w_n, w_k, sx_m, sx_k, sw_n, sw_k,
                                 True, 128, M, N, K)
                _store(y_ptr, acc, row, col, end, n, M, N)
        # the first tile of the next group that is this program's
        taken = tl.maximum(tl.cdiv(tiles - next_tile, programs), 0)
        next_tile += taken * programs - tiles


def forward(x, scale_x, w, scale_w, offsets, *, out):
    """x [tokens, k], w [groups, n, k], their scales, offsets -> y [tokens, n] in the dtype named by out."""
    (tokens, k), (groups, n, _) = x.shape, w.shape
    y = torch.empty((tokens, n), dtype=DTYPES[out], device=x.device)
    if y.numel():
        rows = ceildiv(tokens, groups)  # of a group, on average
        tile_m, tile_n = tile_side(rows, TILE_MAX), tile_side(n, TILE_MAX)
        _grouped_fp8_gemm_kernel[(PROGRAMS,)](
            x, scale_x, w, scale_w, offsets, y, offsets.stride(0), groups, n, k, *x.stride(), *w.stride(),
            *scale_x.stride(), *scale_w.stride(), DESCRIBED=False, GROUP=GROUP, M=tile_m, N=tile_n, K=BLOCK_K,
            num_warps=8 if tile_m * tile_n > 8192 else 4)
    return y


def forward_described(x, scale_x, w, scale_w, offsets, *, out):
    """The same of what _accepts_described lets through."""
    (tokens, k), (groups, n, _) = x.shape, w.shape
    y = torch.empty((tokens, n), dtype=DTYPES[out], device=x.device)
    tile_m, tile_n = (max(2, tile_side(size, BLOCK_K)) if INTERPRETED else BLOCK_K for size in (tokens, n))
    # Two programs of a multiprocessor share its 65,536 registers.
    _grouped_fp8_gemm_kernel[(PROGRAMS,)](
        described(x, [tile_m, BLOCK_K]), scale_x, described(w.view(groups * n, k), [tile_n // 2, BLOCK_K]),
        scale_w, offsets, y, offsets.stride(0), groups, n, k, 0, 0, 0, 0, 0, *scale_x.stride(),
        *scale_w.stride(), DESCRIBED=True, GROUP=GROUP, M=tile_m, N=tile_n, K=BLOCK_K, num_stages=3,
        num_warps=8, maxnreg=128)
    return y


# ---- torch


def reference(x, scale_x, w, scale_w, offsets, *, out):
    """The formula in torch, group by group: in x's dtype, fp8 in fp32. out is not applied."""
    dtype = torch.float32 if x.dtype.itemsize == 1 else x.dtype
    (_, n, k), ends = w.shape, [int(end) for end in offsets.tolist()]

    def dequantised(codes, scale):
        return codes.to(dtype) * scale.to(dtype).repeat_interleave(BLOCK_K, -1)[..., :k]

    rows, scale_w = dequantised(x, scale_x), scale_w.repeat_interleave(BLOCK_K, 1)[:, :n]
    parts = [rows[first:end] @ dequantised(w[g], scale_w[g]).T for g, (first, end) in
             enumerate(zip(ends, ends[1:])) if first < end]
    return torch.cat(parts) if parts else rows.new_zeros((0, n))


def dequant(x, scale_x, w, scale_w, offsets, *, out):
    """x [tokens, k], w [groups, n, k], their scales, offsets -> y: the products in fp32, rounded once."""
    return reference(x, scale_x, w, scale_w, offsets, out=out).to(DTYPES[out])


def deepgemm(x, scale_x, w, scale_w, offsets, *, out):
    """x [tokens, k], w [groups, n, k], their scales, offsets -> y [tokens, n]: rows are moved to where the
    groups begin at multiples of BLOCK_K rows, and those of y back."""
    import deep_gemm
    (tokens, k), groups = x.shape, w.shape[0]
    padded = (offsets.diff() + BLOCK_K - 1) // BLOCK_K * BLOCK_K
    row = torch.arange(tokens, device=x.device, dtype=torch.int32)
    group = torch.searchsorted(offsets[1:], row, right=True, out_int32=True)
    place = (padded.cumsum(0) - padded - offsets[:-1])[group] + row
    room = (ceildiv(tokens, BLOCK_K) + min(tokens, groups)) * BLOCK_K
    moved, scales = x.new_empty((room, k)), scale_x.new_empty((room, scale_x.shape[1]))
    of_rows = torch.full((room,), -1, dtype=torch.int32, device=x.device).index_copy_(0, place, group)
    moved.view(torch.uint8).index_copy_(0, place, x.view(torch.uint8))
    scales.index_copy_(0, place, scale_x)
    y = x.new_empty((room, w.shape[1]), dtype=torch.bfloat16)
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous((moved, scales), (w, scale_w), y, of_rows)
    return y[place]


def _accepts_deepgemm(direction, x, scale_x, w, scale_w, offsets, *, out):
    return declined("grouped_fp8_gemm/deepgemm/kernel", True, out, x, w)


def _accepts(direction, x, *rest, out):
    """Triton has no conversion of its own for e4m3 below 8.9."""
    return too_old(x.device, "Triton's e4m3", (8, 9))


def _accepts_described(direction, x, scale_x, w, *rest, out):
    """The copy engine reads rows of 16 bytes, and matrices one after the other as the rows of one."""
    for name, operand in (("x", x), ("w", w)):
        if why := not_described(operand, name, operand.dim() - 1):
            return f"grouped_fp8_gemm/triton/persistent: {why}"
    if w.stride(0) != w.shape[1] * w.stride(1):
        return "grouped_fp8_gemm/triton/persistent: the matrices of w do not follow each other"
    return too_old(x.device, "a tile of 128 x 128 in the tensor cores' shared memory", (9, 0))


_E4M3 = {"outputs": ("y",), "contract": "promoted", "dtypes": ("e4m3",)}

IMPLEMENTATIONS = [
    Implementation("triton/pointers", forward, accepts=_accepts,
                   constraint="a GPU of compute capability 8.9 or newer, or none", **_E4M3),
    Implementation("triton/persistent", forward_described, accepts=_accepts_described,
                   constraint="rows that begin at 16 bytes, matrices one after the other; no size 0; on a "
                   "GPU, 9.0 or newer", **_E4M3),
    Implementation("torch/dequant", dequant, **_E4M3),
    Implementation("deepgemm/kernel", deepgemm, module="deep_gemm", accepts=_accepts_deepgemm,
                   constraint=DEEPGEMM_TAKES, remark="its rows are moved, there and back, within the time",
                   **_E4M3),
]
