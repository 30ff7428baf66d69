"""grouped_gemm: y[t,j] = sum_k x[t,k] w[g,k,j] for offsets[g] <= t < offsets[g+1]
backward: of each group grad_x = grad_y w^T, grad_w = x^T grad_y

Layout   x [tokens, k], w [groups, k, n], offsets [groups + 1] int64, rising from 0 to tokens, with any
         strides; y [tokens, n], contiguous. fp32 (products in IEEE fp32), fp16, bf16; added in fp32.
Limits   groups may be empty, and one may have every row; all sizes may be 0.
Source   Gale et al. 2023, MegaBlocks: Efficient Sparse Training with Mixture-of-Experts
  triton/persistent  a fixed number of programs walk over the tiles of all groups
  torch/grouped_mm   torch._grouped_mm: bf16, and sizes of 16 bytes
  torch/eager        a product a group
  torch/compile      torch/grouped_mm through Inductor
"""

import torch

from implementation import INTERPRETED, Implementation, beside_peers, compile_for, tile_side, tl, triton

DIFFERENTIABLE = (0, 1)  # of the inputs of reference
TILE_MAX = 64  # of rows and columns
TILE_K = 128 if INTERPRETED else 32
PROGRAMS = 2 if INTERPRETED else 528  # four for each multiprocessor of a Hopper GPU


@triton.jit
def _grouped_gemm_kernel(a_ptr, b_ptr, y_ptr, offsets_ptr, offset_stride, groups, rows, cols, depth, a_row,
                         a_k, b_group, b_k, b_col, BY_DEPTH: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
                         K: tl.constexpr):
    """Every so-manieth [M, N] tile of all groups. The offsets cut the rows of a and y, or BY_DEPTH what is
    summed; then each group has a matrix of y."""
    programs = tl.num_programs(0)
    next_tile = tl.program_id(0).to(tl.int64)  # counted from the first tile of the group
    across = tl.cdiv(cols, N)
    for g in range(0, groups):
        first = tl.load(offsets_ptr + g * offset_stride)
        size = tl.load(offsets_ptr + (g + 1) * offset_stride) - first
        group = first * 0 + g
        if BY_DEPTH:
            height, length, a_at, b_at, y_at = first * 0 + rows, size, first * a_k, first * b_k, group * rows
        else:
            height, length, a_at, b_at, y_at = size, first * 0 + depth, first * a_row, group * b_group, first
        tiles = tl.cdiv(height, M) * across
        for tile in range(next_tile, tiles, programs):
            rm = tile // across * M + tl.arange(0, M)
            rn = tile % across * N + tl.arange(0, N)
            acc = tl.zeros([M, N], tl.float32)
            for k0 in range(0, length, K):
                rk = k0 + tl.arange(0, K).to(tl.int64)
                a = tl.load(a_ptr + a_at + rm[:, None] * a_row + rk[None, :] * a_k,
                            mask=(rm < height)[:, None] & (rk < length)[None, :], other=0.0)
                b = tl.load(b_ptr + b_at + rk[:, None] * b_k + rn[None, :] * b_col,
                            mask=(rk < length)[:, None] & (rn < cols)[None, :], other=0.0)
                acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=tl.float32)
            tl.store(y_ptr + (y_at + rm[:, None]) * cols + rn[None, :], acc.to(y_ptr.dtype.element_ty),
                     mask=(rm < height)[:, None] & (rn < cols)[None, :])
        # the first tile of the next group that is this program's
        taken = tl.maximum(tl.cdiv(tiles - next_tile, programs), 0)
        next_tile += taken * programs - tiles


def _products(a, b, y, offsets, rows, depth, a_strides, b_strides, by_depth: bool):
    """Launches the product of every group; b's strides are those of a group, k and a column."""
    groups, cols = offsets.numel() - 1, y.shape[-1]
    if y.numel():
        _grouped_gemm_kernel[(PROGRAMS,)](a, b, y, offsets, offsets.stride(0), groups, rows, cols, depth,
                                          *a_strides, *b_strides, BY_DEPTH=by_depth,
                                          M=tile_side(rows, TILE_MAX), N=tile_side(cols, TILE_MAX),
                                          K=tile_side(depth, TILE_K))
    return y


def _by_rows(a, w, offsets):
    """Each row of a times the matrix of its group, w [groups, depth, cols]."""
    tokens, depth = a.shape
    y = torch.empty((tokens, w.shape[2]), dtype=a.dtype, device=a.device)
    return _products(a, w, y, offsets, tokens, depth, a.stride(), w.stride(), False)


def forward(x, w, offsets):
    """x [tokens, k], w [groups, k, n], offsets [groups + 1] int64 -> y [tokens, n] of x's dtype."""
    return _by_rows(x, w, offsets)


def backward(x, w, offsets, grad_y):
    """x, w, offsets, grad_y [tokens, n] -> grad_x, grad_w."""
    grad_w = torch.empty(w.shape, dtype=w.dtype, device=w.device)
    _products(x, grad_y, grad_w, offsets, x.shape[1], x.shape[0], x.mT.stride(), (0, *grad_y.stride()), True)
    return _by_rows(grad_y, w.mT, offsets), grad_w


# ---- torch


def _ranges(offsets):
    ends = [int(end) for end in offsets.tolist()]
    return list(enumerate(zip(ends, ends[1:])))


def reference(x, w, offsets):
    """The formula in torch, group by group, in the dtype of x; differentiable in x and w."""
    parts = [x[first:end] @ w[g] for g, (first, end) in _ranges(offsets)]
    return torch.cat(parts) if parts else x.new_zeros((0, w.shape[2]))


def reference_backward(x, w, offsets, grad_y):
    """The backward formula in torch, group by group."""
    grad_x = [grad_y[first:end] @ w[g].mT for g, (first, end) in _ranges(offsets)]
    grad_w = [x[first:end].mT @ grad_y[first:end] for _, (first, end) in _ranges(offsets)]
    return (torch.cat(grad_x) if grad_x else torch.zeros_like(x),
            torch.stack(grad_w) if grad_w else torch.zeros_like(w))


def grouped_mm(x, w, offsets):
    """torch._grouped_mm; offsets are the ends, in int32."""
    return torch._grouped_mm(x, w, offs=offsets[1:].int())


def grouped_mm_backward(x, w, offsets, grad_y):
    """Both products by torch._grouped_mm."""
    ends = offsets[1:].int()
    return torch._grouped_mm(grad_y, w.mT, offs=ends), torch._grouped_mm(x.mT, grad_y, offs=ends)


def _accepts(direction, *tensors, **attributes):
    """torch._grouped_mm takes sizes, strides and addresses that are multiples of 16 bytes."""
    x, w = tensors[0], tensors[1]
    if x.numel() == 0 or w.numel() == 0:
        return "torch._grouped_mm takes no empty tensors"
    for t in (x, w, *tensors[3:]):
        rows, cols = t.stride()[-2:]
        if cols != 1 or rows % 8 or t.shape[-1] % 8 or t.data_ptr() % 16:
            return "torch._grouped_mm takes rows side by side, of whole vectors of 16 bytes"
    return None


_NAMES = {"outputs": ("y",), "gradients": ("grad_x", "grad_w")}

IMPLEMENTATIONS = [
    Implementation("triton/persistent", forward, backward, **_NAMES),
    Implementation("torch/grouped_mm", grouped_mm, grouped_mm_backward, dtypes=("bf16",), accepts=_accepts,
                   constraint="rows of whole vectors of 16 bytes", **_NAMES),
    Implementation("torch/eager", reference, reference_backward, **_NAMES),
    *beside_peers(Implementation("torch/compile", compile_for(grouped_mm), compile_for(grouped_mm_backward),
                                 compiled=True, dtypes=("bf16",), accepts=_accepts,
                                 constraint="rows of whole vectors of 16 bytes", **_NAMES)),
]
