"""gemm in cuTile: y = alpha a b + beta c, for each matrix of a batch
backward: grad_a = alpha grad_y b^T, grad_b = alpha a^T grad_y

Layout, limits and contract are those of gemm.py: fp32 products are IEEE fp32, sums are fp32.
  cutile/tiled  a tile of y per block, blocks grouped so that neighbours share operands in L2; an operand
                whose rows are not contiguous is read the other way round
"""

import torch

from cutile import by_tma, ct, launch
from implementation import Implementation, ceildiv, tile_side

GROUP = 8  # tiles of rows that are taken together
MULTIPROCESSORS = 132
WIDE = ((128, 256, 64), (128, 128, 64), (64, 128, 64), (64, 64, 64))  # rows, columns, depth in 16 bits


@ct.kernel
def _gemm(a, b, c, y, alpha, beta, A_TURNED: ct.Constant[bool], B_TURNED: ct.Constant[bool],
          ADDS: ct.Constant[bool], GROUPED: ct.Constant[int], M: ct.Constant[int], N: ct.Constant[int],
          K: ct.Constant[int], TMA: ct.Constant[bool]):
    """One [M, N] tile of one matrix of y. TURNED, an operand is [batch, k, m] or [batch, n, k]."""
    down = ct.num_tiles(y, 1, (1, M, N))
    across = ct.num_tiles(y, 2, (1, M, N))
    matrix = ct.bid(0) // (down * across)
    place = ct.bid(0) % (down * across)
    first = place // (GROUPED * across) * GROUPED
    together = min(down - first, GROUPED)
    i = first + place % (GROUPED * across) % together
    j = place % (GROUPED * across) // together
    acc = ct.zeros((M, N), dtype=ct.float32)
    for step in range(ct.cdiv(a.shape[1] if A_TURNED else a.shape[2], K)):
        left = ct.load(a, (matrix, i, step), (1, M, K), order=(0, 2, 1) if A_TURNED else (0, 1, 2),
                       padding_mode=ct.PaddingMode.ZERO).reshape((M, K))
        right = ct.load(b, (matrix, step, j), (1, K, N), order=(0, 2, 1) if B_TURNED else (0, 1, 2),
                        padding_mode=ct.PaddingMode.ZERO).reshape((K, N))
        acc = ct.mma(left, right, acc)
    acc = acc * alpha
    if ADDS:
        extra = ct.load(c, (matrix, i, j), (1, M, N), padding_mode=ct.PaddingMode.ZERO)
        acc = acc + beta * extra.reshape((M, N)).astype(ct.float32)
    ct.store(y, (matrix, i, j), acc.astype(y.dtype).reshape((1, M, N)), allow_tma=TMA)


_gemm_of_two_groups = _gemm.replace_hints(num_worker_warps=8)  # else the sums of 128 x 256 do not fit


def _tile(batch: int, m: int, n: int, x: torch.Tensor) -> tuple[int, int, int]:
    """The largest tile of which there are enough for most multiprocessors."""
    if x.element_size() == 4:
        return tile_side(m, 64), tile_side(n, 64), 32
    for tile in WIDE:
        if batch * ceildiv(m, tile[0]) * ceildiv(n, tile[1]) * 4 >= MULTIPROCESSORS * 3:
            break
    return tile_side(m, tile[0]), tile_side(n, tile[1]), tile[2]


def _product(a, b, c, alpha: float, beta: float):
    """alpha a b + beta c of a [batch, m, k] and b [batch, k, n] of any strides; c, contiguous, is
    None for nothing."""
    (batch, m, k), n = a.shape, b.shape[2]
    y = torch.empty((batch, m, n), dtype=a.dtype, device=a.device)
    if y.numel():
        if not k:  # an array without an element has no address
            a, b = a.new_zeros((batch, m, 1)), b.new_zeros((batch, 1, n))
        tile = _tile(batch, m, n, a)
        turned = [x.stride(2) != 1 and x.stride(1) == 1 for x in (a, b)]
        left, right = (x.mT if over else x for x, over in zip((a, b), turned))
        kernel = _gemm_of_two_groups if tile[0] * tile[1] > 16384 else _gemm
        launch(kernel, batch * ceildiv(m, tile[0]) * ceildiv(n, tile[1]), left, right, y if c is None else c,
               y, alpha, beta, *turned, c is not None, GROUP, *tile, by_tma(y))
    return y


def forward(a, b, c, *, layout_b, with_c, alpha, beta):
    """a [batch, m, k], b, c -> y [batch, m, n] of a's dtype."""
    b = b.mT if layout_b == "nk" else b
    return _product(a, b, c.contiguous() if with_c and beta != 0 else None, alpha, beta)


def backward(a, b, grad_y, *, layout_b, with_c, alpha, beta):
    """a, b, grad_y [batch, m, n] -> grad_a, grad_b: one product each, of views that are transposed."""
    if layout_b == "nk":
        return _product(grad_y, b, None, alpha, 0.0), _product(grad_y.mT, a, None, alpha, 0.0)
    return _product(grad_y, b.mT, None, alpha, 0.0), _product(a.mT, grad_y, None, alpha, 0.0)


IMPLEMENTATIONS = [
    Implementation("cutile/tiled", forward, backward, outputs=("y",), gradients=("grad_a", "grad_b"),
                   module="cuda.tile"),
]
