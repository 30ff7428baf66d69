"""Tiles of the product of two scaled fp8 matrices: Triton functions for operators that multiply these."""

import torch

from implementation import INTERPRETED, ceildiv, tile_side, tl, triton
from product_tiles import GROUP, place

BLOCK_K = 128  # the granule of block scaling and of promotion to fp32
TILE_MAX = 256 if INTERPRETED else 128  # of m and n


@triton.jit
def times_scales(x, a, b):
    """x * a * b: by the smaller one first, so that a large one does not overflow before a small one counters
    it. NaN stays: no comparison with it holds."""
    return x * tl.where(a < b, a, b) * tl.where(a < b, b, a)


@triton.jit
def accumulate(a_ptr, scale_a_ptr, b_ptr, scale_b_ptr, rm, rn, m, n, k, first, last, a_m, a_k, b_n, b_k,
                sa_m, sa_k, sb_n, sb_k,
                BLOCKS: tl.constexpr, SHARED: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
                K: tl.constexpr):
    """The fp32 sum of a tile over the blocks first to last of k. With BLOCKS every block has its scales, of
    one row of a and of SHARED rows of b."""
    acc = tl.zeros([M, N], tl.float32)
    for block in range(first, last):
        rk = (block * K + tl.arange(0, K)).to(tl.int64)
        a = tl.load(a_ptr + rm[:, None] * a_m + rk[None, :] * a_k, mask=(rm < m)[:, None] & (rk < k)[None, :],
                    other=0.0)
        b = tl.load(b_ptr + rn[None, :] * b_n + rk[:, None] * b_k, mask=(rn < n)[None, :] & (rk < k)[:, None],
                    other=0.0)
        if BLOCKS:
            scale_a = tl.load(scale_a_ptr + rm * sa_m + block * sa_k, mask=rm < m, other=0.0)
            scale_b = tl.load(scale_b_ptr + (rn // SHARED) * sb_n + block * sb_k, mask=rn < n, other=0.0)
            acc += times_scales(tl.dot(a, b, out_dtype=tl.float32), scale_a[:, None], scale_b[None, :])
        else:
            acc = tl.dot(a, b, acc, max_num_imprecise_acc=K, out_dtype=tl.float32)
    return acc


@triton.jit
def halves_of_columns(a, b, scale_a_ptr, scale_b_ptr, row, col, b_row, m, k, sa_m, sa_k, sb_n, sb_k,
                      M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """The fp32 sums of the left and the right half of a tile whose blocks have their scales; b is described
    in blocks of [N / 2, K], and has the tile's first column in row b_row. Both halves take the same scales,
    which are read a block ahead: a product is shorter than a read."""
    left = tl.zeros([M, N // 2], tl.float32)
    right = tl.zeros([M, N // 2], tl.float32)
    scales_a = scale_a_ptr + tl.minimum(row + tl.arange(0, M), m - 1).to(tl.int64) * sa_m
    scales_b = scale_b_ptr + (col // 128) * sb_n
    blocks = tl.cdiv(k, K)
    scale = tl.load(scales_a) * tl.load(scales_b)
    for block in range(0, blocks):
        following = tl.minimum(block + 1, blocks - 1)
        ahead = tl.load(scales_a + following * sa_k) * tl.load(scales_b + following * sb_k)
        rows = a.load([row, block * K])
        left += tl.dot(rows, b.load([b_row, block * K]).T, out_dtype=tl.float32) * scale[:, None]
        right += tl.dot(rows, b.load([b_row + N // 2, block * K]).T, out_dtype=tl.float32) * scale[:, None]
        scale = ahead
    return left, right


@triton.jit
def scaled(acc, scale_a_ptr, scale_b_ptr, rm, rn, m, n, sa_m, sb_n, ROWS: tl.constexpr):
    """acc with the scales of its rows and columns, or of the whole tensors."""
    if ROWS:
        scale_a = tl.load(scale_a_ptr + rm * sa_m, mask=rm < m, other=0.0)
        scale_b = tl.load(scale_b_ptr + rn * sb_n, mask=rn < n, other=0.0)
        return times_scales(acc, scale_a[:, None], scale_b[None, :])
    else:
        return times_scales(acc, tl.load(scale_a_ptr), tl.load(scale_b_ptr))


@triton.jit
def store_scaled(acc, c_ptr, scale_a_ptr, scale_b_ptr, row, col, m, n, sa_m, sb_n,
                  BLOCKS: tl.constexpr, ROWS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """Stores the [M, N] tile of c at (row, col): its sums, with the scales that those do not have yet."""
    rm = (row + tl.arange(0, M)).to(tl.int64)
    rn = (col + tl.arange(0, N)).to(tl.int64)
    if not BLOCKS:
        acc = scaled(acc, scale_a_ptr, scale_b_ptr, rm, rn, m, n, sa_m, sb_n, ROWS)
    tl.store(c_ptr + rm[:, None] * n + rn[None, :], acc.to(c_ptr.dtype.element_ty),
             mask=(rm < m)[:, None] & (rn < n)[None, :])


@triton.jit
def _fp8_tiled_kernel(a_ptr, scale_a_ptr, b_ptr, scale_b_ptr, c_ptr, m, n, k, a_m, a_k, b_n, b_k, sa_m,
                           sa_k, sb_n, sb_k, GROUP: tl.constexpr,
                           BLOCKS: tl.constexpr, ROWS: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
                           K: tl.constexpr, SHARED: tl.constexpr = 128):
    """One [M, N] tile of c."""
    row, col = place(tl.program_id(0), m, n, GROUP, M, N)
    rm = (row + tl.arange(0, M)).to(tl.int64)
    rn = (col + tl.arange(0, N)).to(tl.int64)
    acc = accumulate(a_ptr, scale_a_ptr, b_ptr, scale_b_ptr, rm, rn, m, n, k, 0, tl.cdiv(k, K), a_m, a_k,
                      b_n, b_k, sa_m, sa_k, sb_n, sb_k,
                      BLOCKS, SHARED, M, N, K)
    store_scaled(acc, c_ptr, scale_a_ptr, scale_b_ptr, row, col, m, n, sa_m, sb_n, BLOCKS, ROWS, M, N)


def strides(scale: torch.Tensor) -> tuple[int, int]:
    """Of the scales of blocks, else of rows or of the tensor, along rows and along k."""
    return (scale.stride(0), scale.stride(1)) if scale.dim() == 2 else (scale.stride(0), 0)


def tiled(a, scale_a, b, scale_b, dtype: torch.dtype, shared: int = 128) -> torch.Tensor:
    """a [m, k], b [n, k] -> c [m, n] in dtype. The scales of both are of the tensor [1], of rows [m] and [n],
    or of blocks [m, ceil(k/128)] and [ceil(n/shared), ceil(k/128)]; one of a tensor among rows is
    repeated."""
    (m, k), n = a.shape, b.shape[0]
    c = torch.empty((m, n), dtype=dtype, device=a.device)
    if c.numel():
        tile_m, tile_n = tile_side(m, TILE_MAX), tile_side(n, TILE_MAX)
        _fp8_tiled_kernel[(ceildiv(m, tile_m) * ceildiv(n, tile_n),)](
            a, scale_a, b, scale_b, c, m, n, k, *a.stride(), *b.stride(), *strides(scale_a),
            *strides(scale_b), GROUP=GROUP, BLOCKS=scale_a.dim() == 2, ROWS=max(scale_a.numel(),
            scale_b.numel()) > 1, M=tile_m, N=tile_n, K=BLOCK_K, SHARED=shared,
            num_warps=8 if tile_m * tile_n > 8192 else 4)
    return c
