"""grouped_fp8_gemm: y[t,j] = sum_k (x[t,k] scale_x[t,k/128]) (w[g,j,k] scale_w[g,j/128,k/128])
for offsets[g] <= t < offsets[g+1]

Layout   x [tokens, k], w [groups, n, k]: e4m3, any strides; scale_x [tokens, ceil(k/128)], scale_w
         [groups, ceil(n/128), ceil(k/128)] in fp32; offsets [groups + 1] int32, rising from 0 to tokens; y
         [tokens, n] bf16, fp16 or fp32, contiguous. Every 128 of k the sum is scaled and added in fp32.
Limits   groups may be empty, and one may have every row; all sizes may be 0, and k = 0 gives zeros.
Source   DeepSeek-AI 2025, DeepGEMM: m_grouped_fp8_gemm_nt_contiguous
  triton/persistent  a fixed number of programs walk over the tiles of all groups
  torch/dequant      operands scaled in fp32, then a product in fp32 for each group

torch._scaled_grouped_mm has no row: it takes a scale a row and column, or those of mxfp8, and none of blocks.
"""

import torch

from fp8_tiles import BLOCK_K, TILE_MAX, accumulate
from implementation import INTERPRETED, Implementation, ceildiv, tile_side, tl, too_old, triton
from product_tiles import GROUP, PLACES, place

DIFFERENTIABLE = ()  # of the inputs of reference
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
PROGRAMS = 2 if INTERPRETED else 2 * PLACES


@triton.jit
def _grouped_fp8_gemm_kernel(x_ptr, scale_x_ptr, w_ptr, scale_w_ptr, offsets_ptr, y_ptr, offset_stride,
                             groups, n, k, x_m, x_k, w_g, w_n, w_k, sx_m, sx_k, sw_g, sw_n, sw_k,
                             GROUP: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Every so-manieth [M, N] tile of all groups."""
    programs = tl.num_programs(0)
    next_tile = tl.program_id(0)  # counted from the first tile of the group
    for g in range(0, groups):
        first = tl.load(offsets_ptr + g * offset_stride)
        end = tl.load(offsets_ptr + (g + 1) * offset_stride)
        group = (first * 0 + g).to(tl.int64)
        tiles = tl.cdiv(end - first, M) * tl.cdiv(n, N)
        for tile in range(next_tile, tiles, programs):
            row, col = place(tile, end - first, n, GROUP, M, N)
            rm = (first + row + tl.arange(0, M)).to(tl.int64)
            rn = (col + tl.arange(0, N)).to(tl.int64)
            acc = accumulate(x_ptr, scale_x_ptr, w_ptr + group * w_g, scale_w_ptr + group * sw_g, rm, rn, end,
                             n, k, 0, tl.cdiv(k, K), x_m, x_k, w_n, w_k, sx_m, sx_k, sw_n, sw_k, True, 128, M,
                             N, K)
            tl.store(y_ptr + rm[:, None] * n + rn[None, :], acc.to(y_ptr.dtype.element_ty),
                     mask=(rm < end)[:, None] & (rn < n)[None, :])
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
            *scale_x.stride(), *scale_w.stride(), GROUP=GROUP, M=tile_m, N=tile_n, K=BLOCK_K,
            num_warps=8 if tile_m * tile_n > 8192 else 4)
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


def _accepts(direction, x, *rest, out):
    """Triton has no conversion of its own for e4m3 below 8.9."""
    return too_old(x.device, "Triton's e4m3", (8, 9))


_E4M3 = {"outputs": ("y",), "contract": "promoted", "dtypes": ("e4m3",)}

IMPLEMENTATIONS = [
    Implementation("triton/persistent", forward, accepts=_accepts,
                   constraint="a GPU of compute capability 8.9 or newer, or none", **_E4M3),
    Implementation("torch/dequant", dequant, **_E4M3),
]
