"""gemm: y = alpha a b + beta c, for each matrix of a batch
backward: grad_a = alpha grad_y b^T, grad_b = alpha a^T grad_y

Layout   a [batch, m, k], b [batch, k, n] or with layout_b = nk [batch, n, k], c [batch, m, n] or [0, m, n]
         for none, y [batch, m, n]; fp32 (products in IEEE fp32), fp16, bf16. Inputs with any strides, outputs
         contiguous. Sums in fp32; alpha, c and beta are applied to the fp32 sum. With beta = 0 c is not read.
Limits   batch, m, n, k may be 0.
Source   Dongarra et al. 1990, A set of level 3 basic linear algebra subprograms
  triton/tiled      a tile of y per program, programs grouped so that neighbours share operands in L2
  triton/tiled_tf32 the same with fp32 operands read as tf32 (contract tf32), for the tensor cores
  torch/eager       torch.baddbmm
"""

import functools

import torch

from implementation import INTERPRETED, Implementation, ceildiv, next_power_of_2, tl, triton

DIFFERENTIABLE = (0, 1)  # of the inputs of reference
TILE_MAX = 128  # of m and n
TILE_MIN = 1 if INTERPRETED else 16  # the smallest operand of a tensor core instruction
TILE_K = 128 if INTERPRETED else 32
GROUP = 8  # rows of tiles that are walked together


@triton.jit
def _gemm_tiled_kernel(a_ptr, b_ptr, c_ptr, y_ptr, alpha, beta, m, n, k, a_batch, a_m, a_k, b_batch, b_k, b_n,
                       ADDS: tl.constexpr, PRECISION: tl.constexpr, GROUP: tl.constexpr,
                       M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """One [M, N] tile of one matrix of y. Programs walk GROUP rows of tiles column by column, so that those
    in flight share what L2 holds."""
    tiles_m, tiles_n = tl.cdiv(m, M), tl.cdiv(n, N)
    matrix = (tl.program_id(0) // (tiles_m * tiles_n)).to(tl.int64)
    program = tl.program_id(0) % (tiles_m * tiles_n)
    per_group = GROUP * tiles_n
    first_m = (program // per_group) * GROUP
    height = tl.minimum(tiles_m - first_m, GROUP)
    rm = ((first_m + (program % per_group) % height) * M + tl.arange(0, M)).to(tl.int64)
    rn = ((program % per_group) // height * N + tl.arange(0, N)).to(tl.int64)
    a_ptr += matrix * a_batch
    b_ptr += matrix * b_batch
    acc = tl.zeros([M, N], tl.float32)
    for block in range(0, tl.cdiv(k, K)):
        rk = (block * K + tl.arange(0, K)).to(tl.int64)
        a = tl.load(a_ptr + rm[:, None] * a_m + rk[None, :] * a_k, mask=(rm < m)[:, None] & (rk < k)[None, :],
                    other=0.0)
        b = tl.load(b_ptr + rk[:, None] * b_k + rn[None, :] * b_n, mask=(rk < k)[:, None] & (rn < n)[None, :],
                    other=0.0)
        acc = tl.dot(a, b, acc, input_precision=PRECISION, out_dtype=tl.float32)
    acc = acc * alpha
    at = (matrix * m + rm[:, None]) * n + rn[None, :]
    inside = (rm < m)[:, None] & (rn < n)[None, :]
    if ADDS:
        acc += beta * tl.load(c_ptr + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, acc.to(y_ptr.dtype.element_ty), mask=inside)


def _tile(size: int) -> int:
    """Rows or columns of y that a program takes."""
    return max(TILE_MIN, min(TILE_MAX, next_power_of_2(size)))


def _product(a, b, c, alpha: float, beta: float, precision: str):
    """alpha a b + beta c of a [batch, m, k] and b [batch, k, n] of any strides; c, contiguous, is
    None for nothing."""
    (batch, m, k), n = a.shape, b.shape[2]
    y = torch.empty((batch, m, n), dtype=a.dtype, device=a.device)
    if y.numel():
        tile_m, tile_n = _tile(m), _tile(n)
        grid = (batch * ceildiv(m, tile_m) * ceildiv(n, tile_n),)
        _gemm_tiled_kernel[grid](a, b, y if c is None else c, y, alpha, beta, m, n, k, *a.stride(),
                                 *b.stride(), ADDS=c is not None, PRECISION=precision, GROUP=GROUP,
                                 M=tile_m, N=tile_n, K=TILE_K, num_warps=8 if tile_m * tile_n > 8192 else 4)
    return y


def forward(a, b, c, *, layout_b, with_c, alpha, beta, precision="ieee"):
    """a [batch, m, k], b, c -> y [batch, m, n] of a's dtype."""
    b = b.mT if layout_b == "nk" else b
    return _product(a, b, c.contiguous() if with_c and beta != 0 else None, alpha, beta, precision)


def backward(a, b, grad_y, *, layout_b, with_c, alpha, beta, precision="ieee"):
    """a, b, grad_y [batch, m, n] -> grad_a, grad_b: one product each, of views that are transposed."""
    if layout_b == "nk":
        return (_product(grad_y, b, None, alpha, 0.0, precision),
                _product(grad_y.mT, a, None, alpha, 0.0, precision))
    return (_product(grad_y, b.mT, None, alpha, 0.0, precision),
            _product(a.mT, grad_y, None, alpha, 0.0, precision))


# ---- torch


def reference(a, b, c, *, layout_b, with_c, alpha, beta):
    """The formula in torch, in the dtype of a; differentiable in a and b."""
    y = alpha * torch.bmm(a, b.mT if layout_b == "nk" else b)
    return y + beta * c if with_c and beta != 0 else y


def reference_backward(a, b, grad_y, *, layout_b, with_c, alpha, beta):
    """The backward formula in torch."""
    if layout_b == "nk":
        return alpha * torch.bmm(grad_y, b), alpha * torch.bmm(grad_y.mT, a)
    return alpha * torch.bmm(grad_y, b.mT), alpha * torch.bmm(a.mT, grad_y)


def _torch_product(a, b, alpha: float):
    """alpha a b, rounded once."""
    if alpha == 1:
        return torch.bmm(a, b)
    zero = torch.zeros((), dtype=a.dtype, device=a.device)
    return torch.baddbmm(zero.expand(a.shape[0], a.shape[1], b.shape[2]), a, b, alpha=alpha, beta=0)


def eager(a, b, c, *, layout_b, with_c, alpha, beta):
    """torch.baddbmm, which scales and adds before it rounds; torch.bmm where there is nothing to do."""
    b = b.mT if layout_b == "nk" else b
    if with_c and beta != 0:
        return torch.baddbmm(c, a, b, alpha=alpha, beta=beta)
    return _torch_product(a, b, alpha)


def eager_backward(a, b, grad_y, *, layout_b, with_c, alpha, beta):
    """Both products with alpha before they are rounded: autograd would round first."""
    if layout_b == "nk":
        return _torch_product(grad_y, b, alpha), _torch_product(grad_y.mT, a, alpha)
    return _torch_product(grad_y, b.mT, alpha), _torch_product(a.mT, grad_y, alpha)


_NAMES = {"outputs": ("y",), "gradients": ("grad_a", "grad_b")}

IMPLEMENTATIONS = [
    Implementation("triton/tiled", forward, backward, **_NAMES),
    Implementation("triton/tiled_tf32", functools.partial(forward, precision="tf32"),
                   functools.partial(backward, precision="tf32"), contract="tf32", dtypes=("fp32",),
                   **_NAMES),
    Implementation("torch/eager", eager, eager_backward, **_NAMES),
]
