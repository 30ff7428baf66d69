"""gemm: y = alpha a b + beta c, for each matrix of a batch
backward: grad_a = alpha grad_y b^T, grad_b = alpha a^T grad_y

Layout   a [batch, m, k], b [batch, k, n] or with layout_b = nk [batch, n, k], c [batch, m, n] or [0, m, n]
         for none, y [batch, m, n]; fp32 (products in IEEE fp32), fp16, bf16. Inputs with any strides, outputs
         contiguous. Sums in fp32; alpha, c and beta are applied to the fp32 sum. With beta = 0 c is not read.
Limits   batch, m, n, k may be 0.
Source   Dongarra et al. 1990, A set of level 3 basic linear algebra subprograms
  triton/tiled      a tile of y per program, programs grouped so that neighbours share operands in L2
  triton/tiled_tf32 the same with fp32 operands read as tf32 (contract tf32), for the tensor cores
  triton/persistent a program for each multiprocessor, which takes every so-manieth tile; operands are
                    read through tensor descriptors, on Hopper by the copy engine. A tile is as large as
                    leaves one for most multiprocessors. Costs: rows of 16 bytes
  torch/eager       torch.baddbmm
  torch/compile     the same through Inductor
  quack/kernel      quack-kernels' CuTe kernel, with the tiles that it takes without tuning
"""

import functools

import torch

from implementation import (
    INTERPRETED,
    Implementation,
    beside_peers,
    capability,
    ceildiv,
    compile_for,
    tile_side,
    tl,
    too_old,
    triton,
)
from product_tiles import GROUP, PLACES, described, not_described, place

DIFFERENTIABLE = (0, 1)  # of the inputs of reference
TILE_MAX = 128  # of m and n
TILE_K = 128 if INTERPRETED else 32
DESCRIBED_MIN = 16  # the smallest side of a tile that is read through a descriptor


@triton.jit
def _gemm_place(program, m, n, GROUP: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """The matrix of a program's [M, N] tile, and the tile's first row and column."""
    tiles = tl.cdiv(m, M) * tl.cdiv(n, N)
    row, col = place(program % tiles, m, n, GROUP, M, N)
    return program // tiles, row, col


@triton.jit
def _gemm_finish(acc, c_ptr, y_ptr, alpha, beta, matrix, rm, rn, m, n, ADDS: tl.constexpr):
    """Scales a tile, adds c and stores it."""
    acc = acc * alpha
    at = (matrix * m + rm[:, None]) * n + rn[None, :]
    inside = (rm < m)[:, None] & (rn < n)[None, :]
    if ADDS:
        acc += beta * tl.load(c_ptr + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, acc.to(y_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _gemm_tiled_kernel(a_ptr, b_ptr, c_ptr, y_ptr, alpha, beta, m, n, k, a_batch, a_m, a_k, b_batch, b_k, b_n,
                       ADDS: tl.constexpr, PRECISION: tl.constexpr, GROUP: tl.constexpr,
                       M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """One [M, N] tile of one matrix of y."""
    matrix, row, col = _gemm_place(tl.program_id(0), m, n, GROUP, M, N)
    matrix = matrix.to(tl.int64)
    rm = (row + tl.arange(0, M)).to(tl.int64)
    rn = (col + tl.arange(0, N)).to(tl.int64)
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
    _gemm_finish(acc, c_ptr, y_ptr, alpha, beta, matrix, rm, rn, m, n, ADDS)


@triton.jit
def _gemm_persistent_kernel(a, b, c_ptr, y_ptr, alpha, beta, tiles, m, n, k, A_TURNED: tl.constexpr,
                            B_TURNED: tl.constexpr, ADDS: tl.constexpr, FLAT: tl.constexpr,
                            GROUP: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Every so-manieth [M, N] tile of y. a and b are descriptors of [batch, m, k] and [batch, n, k]; TURNED,
    their last two dims are the other way round."""
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=FLAT):
        matrix, row, col = _gemm_place(tile, m, n, GROUP, M, N)
        acc = tl.zeros([M, N], tl.float32)
        for k0 in range(0, k, K):
            if A_TURNED:
                left = a.load([matrix, k0, row]).reshape(K, M).T
            else:
                left = a.load([matrix, row, k0]).reshape(M, K)
            if B_TURNED:
                right = b.load([matrix, k0, col]).reshape(K, N)
            else:
                right = b.load([matrix, col, k0]).reshape(N, K).T
            acc = tl.dot(left, right, acc, input_precision="ieee", out_dtype=tl.float32)
        rm = (row + tl.arange(0, M)).to(tl.int64)
        rn = (col + tl.arange(0, N)).to(tl.int64)
        _gemm_finish(acc, c_ptr, y_ptr, alpha, beta, matrix.to(tl.int64), rm, rn, m, n, ADDS)


def _product(a, b, c, alpha: float, beta: float, precision: str):
    """alpha a b + beta c of a [batch, m, k] and b [batch, k, n] of any strides; c, contiguous, is
    None for nothing."""
    (batch, m, k), n = a.shape, b.shape[2]
    y = torch.empty((batch, m, n), dtype=a.dtype, device=a.device)
    if y.numel():
        tile_m, tile_n = tile_side(m, TILE_MAX), tile_side(n, TILE_MAX)
        grid = (batch * ceildiv(m, tile_m) * ceildiv(n, tile_n),)
        _gemm_tiled_kernel[grid](a, b, y if c is None else c, y, alpha, beta, m, n, k, *a.stride(),
                                 *b.stride(), ADDS=c is not None, PRECISION=precision, GROUP=GROUP,
                                 M=tile_m, N=tile_n, K=TILE_K, num_warps=8 if tile_m * tile_n > 8192 else 4)
    return y


def _described(x, rows: int, depth: int):
    """A descriptor of x [batch, rows, depth] for blocks of [1, rows, depth], and whether it is turned."""
    if turned := x.stride(2) != 1:
        x, rows, depth = x.mT, depth, rows
    return described(x, [1, rows, depth]), turned


# Tiles of 16-bit operands: rows, columns, depth of a step, warps, stages. The first ones read least.
PERSISTENT_TILES = ((128, 256, 64, 8, 4), (64, 256, 64, 4, 5), (64, 128, 128, 4, 4), (64, 64, 128, 4, 5))


def _persistent_tile(batch: int, m: int, n: int, x: torch.Tensor, adds: bool):
    """A tile as in PERSISTENT_TILES for operands like x: the first one of which there are enough for most
    multiprocessors. On Blackwell tiles of y and of c take shared memory, too: fewer stages fit."""
    if INTERPRETED or x.element_size() == 4:
        sides = [max(DESCRIBED_MIN, tile_side(size, TILE_MAX)) for size in (m, n)]
        return *sides, TILE_K, 8 if sides[0] * sides[1] > 8192 else 4, 3
    for tile in PERSISTENT_TILES:
        if batch * ceildiv(m, tile[0]) * ceildiv(n, tile[1]) * 4 >= PLACES * 3:
            break
    *sides, stages = tile
    return *sides, stages - (1 + adds if (capability(x.device) or (9, 0)) >= (10, 0) else 0)


def _persistent_product(a, b, c, alpha: float, beta: float):
    """As _product, of operands that _accepts_persistent lets through."""
    (batch, m, k), n = a.shape, b.shape[2]
    y = torch.empty((batch, m, n), dtype=a.dtype, device=a.device)
    tile_m, tile_n, depth, warps, stages = _persistent_tile(batch, m, n, a, c is not None)
    tiles = batch * ceildiv(m, tile_m) * ceildiv(n, tile_n)
    left, a_turned = _described(a, tile_m, depth)
    right, b_turned = _described(b.mT, tile_n, depth)
    _gemm_persistent_kernel[(min(PLACES, tiles),)](
        left, right, y if c is None else c, y, alpha, beta, tiles, m, n, k, A_TURNED=a_turned,
        B_TURNED=b_turned, ADDS=c is not None, FLAT=a.element_size() == 2, GROUP=GROUP, M=tile_m, N=tile_n,
        K=depth, num_warps=warps, num_stages=stages)
    return y


def _forward(product, a, b, c, *, layout_b, with_c, alpha, beta):
    """a [batch, m, k], b, c -> y [batch, m, n] of a's dtype."""
    b = b.mT if layout_b == "nk" else b
    return product(a, b, c.contiguous() if with_c and beta != 0 else None, alpha, beta)


def _backward(product, a, b, grad_y, *, layout_b, with_c, alpha, beta):
    """a, b, grad_y [batch, m, n] -> grad_a, grad_b: one product each, of views that are transposed."""
    if layout_b == "nk":
        return product(grad_y, b, None, alpha, 0.0), product(grad_y.mT, a, None, alpha, 0.0)
    return product(grad_y, b.mT, None, alpha, 0.0), product(a.mT, grad_y, None, alpha, 0.0)


def _accepts_persistent(direction, a, b, third, *, layout_b, with_c, alpha, beta):
    for name, x in (("a", a), ("b", b), ("grad_y", third))[:3 if direction == "backward" else 2]:
        if why := not_described(x, name, 2 if x.stride(2) == 1 else 1):
            return f"gemm/triton/persistent: {why}"
    return too_old(a.device, "a block of 224 KB of shared memory", (9, 0), below=(12, 0))


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


def _quack_forward(a, b, c, *, layout_b, with_c, alpha, beta):
    from quack.gemm_interface import gemm, gemm_add
    b = b.mT if layout_b == "nk" else b
    if with_c and beta != 0:
        return gemm_add(a, b, c, alpha=alpha, beta=beta, tuned=False)
    return gemm(a, b, alpha=alpha, tuned=False)


def _quack_backward(a, b, grad_y, *, layout_b, with_c, alpha, beta):
    from quack.gemm_interface import gemm
    if layout_b == "nk":
        return (gemm(grad_y, b, alpha=alpha, tuned=False), gemm(grad_y.mT, a, alpha=alpha, tuned=False))
    return gemm(grad_y, b.mT, alpha=alpha, tuned=False), gemm(a.mT, grad_y, alpha=alpha, tuned=False)


def _accepts_quack(direction, a, b, last, **attributes):
    """The copy engine reads operands and writes results in rows of 16 bytes."""
    for name, x in (("a", a), ("b", b), ("c" if direction == "forward" else "grad_y", last)):
        if not x.numel():
            continue
        steps = [x.stride(i) for i in range(3) if x.shape[i] > 1 and x.stride(i) != 1]
        if 1 not in x.stride()[1:] or x.data_ptr() % 16 or any(step % 8 for step in steps):
            return f"gemm/quack/kernel: {name} has no rows or columns that begin at 16 bytes"
    sizes = (b.shape[1:] if direction == "backward" else
             b.shape[1:2] if attributes["layout_b"] == "nk" else b.shape[2:])
    if any(size % 8 for size in sizes):
        return "gemm/quack/kernel: rows of a result are no multiple of 16 bytes"
    return too_old(a.device, "wgmma", (9, 0), below=(12, 0))


_NAMES = {"outputs": ("y",), "gradients": ("grad_a", "grad_b")}


def _variant(name, product, **facts):
    """An implementation whose passes are products."""
    return Implementation(name, functools.partial(_forward, product), functools.partial(_backward, product),
                          **facts, **_NAMES)


IMPLEMENTATIONS = [
    _variant("triton/tiled", functools.partial(_product, precision="ieee")),
    _variant("triton/tiled_tf32", functools.partial(_product, precision="tf32"), contract="tf32",
             dtypes=("fp32",)),
    _variant("triton/persistent", _persistent_product, accepts=_accepts_persistent,
             constraint="rows or columns that begin at 16 bytes; no size 0; on a GPU, 9.0 or newer"),
    Implementation("torch/eager", eager, eager_backward, **_NAMES),
    *beside_peers(Implementation("torch/compile", compile_for(eager), compile_for(eager_backward),
                                 compiled=True, **_NAMES)),
    Implementation("quack/kernel", _quack_forward, _quack_backward, module="quack.gemm_interface",
                   dtypes=("fp16", "bf16"), accepts=_accepts_quack,
                   constraint="rows or columns that begin at 16 bytes", **_NAMES),
]
