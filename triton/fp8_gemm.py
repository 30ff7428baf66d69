"""fp8_gemm: c[m, n] = (a * scale_a) (b * scale_b)^T, both operands K-major backward, as fp8 training does it:
grad_a[m, k] = (g * scale_g) (bt * scale_bt)^T and grad_b[n, k] = (gt * scale_gt) (at * scale_at)^T, each the
forward's product of operands that are already quantised in the layout it needs.

Layout   a [m, k], b [n, k]: e4m3 x e4m3, e5m2 x e4m3 or e4m3 x e5m2, any strides; c [m, n] bf16, fp16 or
         fp32, contiguous. Scales are fp32 multipliers. scaling = tensor: [1] and [1]; row: [m] and [n];
         block: [m, ceil(k/128)] for a, [ceil(n/128), ceil(k/128)] for b.
         Products are summed in fp32; a tensor core that sums them in less hands over to fp32 every 128 of k
         (contract promoted).
Limits   m, n, k of any size; k = 0 gives zeros.
Source   Micikevicius et al. 2022, arXiv:2209.05433; DeepSeek-V3 2024, arXiv:2412.19437 (block scaling)
  triton/tiled          a tile of c per program, programs grouped so that neighbours share operands in L2
  triton/splitk         k in parts, summed by a second kernel in the order of the parts: deterministic
  triton/persistent     two programs for each multiprocessor, which take every so-manieth tile; operands are
                        read through tensor descriptors, on Hopper by the copy engine. A tile is summed in two
                        halves, so that the sums and what the tensor core gave fit in registers. Costs: rows
                        of 16 bytes
  triton/persistent_fast  one program for each, whose tiles the tensor core sums to the end (contract fast)
  torch/scaled_mm       torch._scaled_mm without fast accumulation, where this build does not refuse the sizes
  torch/scaled_mm_fast  the same with fast accumulation (contract fast); registered on a GPU only
  torch/compile         torch/scaled_mm through Inductor
  torch/dequant         operands scaled in fp32, then multiplied in fp32
  deepgemm/kernel       DeepGEMM's (sgl-deep-gemm), compiled at its first call
"""

import functools

import torch

from deepgemm_rows import DEEPGEMM_TAKES, declined
from fp8_scales import tile_scales
from fp8_tiles import BLOCK_K, TILE_MAX, accumulate, halves_of_columns, scaled, store_scaled, strides, tiled
from implementation import (
    INTERPRETED,
    Implementation,
    beside_peers,
    ceildiv,
    compile_for,
    tile_side,
    tl,
    too_old,
    triton,
)
from product_tiles import GROUP, PLACES, described, not_described, place

DIFFERENTIABLE = (0, 2)  # of the inputs of reference
SPLITS = 4 if INTERPRETED else 16  # at most; a GPU fills up with about 132 programs
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
CASES = ("e4m3", "e5m2_e4m3", "e4m3_e5m2")


@triton.jit
def _halves_of_rows(a, b, row, col, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """The fp32 sums of the upper and the lower half of a tile; a is described in blocks of [M / 2, K]."""
    upper = tl.zeros([M // 2, N], tl.float32)
    lower = tl.zeros([M // 2, N], tl.float32)
    for k0 in range(0, k, K):
        right = b.load([col, k0]).T
        upper += tl.dot(a.load([row, k0]), right, out_dtype=tl.float32)
        lower += tl.dot(a.load([row + M // 2, k0]), right, out_dtype=tl.float32)
    return upper, lower


@triton.jit
def _fp8_gemm_persistent_kernel(a, b, c_ptr, scale_a_ptr, scale_b_ptr, tiles, m, n, k, sa_m, sa_k, sb_n,
                                sb_k, GROUP: tl.constexpr, BLOCKS: tl.constexpr, ROWS: tl.constexpr,
                                M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Every so-manieth [M, N] tile of c, each in two halves; N is at most 128. a and b are descriptors."""
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=BLOCKS):
        row, col = place(tile, m, n, GROUP, M, N)
        if BLOCKS:
            left, right = halves_of_columns(a, b, scale_a_ptr, scale_b_ptr, row, col, col, m, k, sa_m, sa_k,
                                            sb_n, sb_k, M, N, K)
            store_scaled(left, c_ptr, scale_a_ptr, scale_b_ptr, row, col, m, n, sa_m, sb_n, BLOCKS, ROWS,
                          M, N // 2)
            store_scaled(right, c_ptr, scale_a_ptr, scale_b_ptr, row, col + N // 2, m, n, sa_m, sb_n,
                          BLOCKS, ROWS, M, N // 2)
        else:
            upper, lower = _halves_of_rows(a, b, row, col, k, M, N, K)
            store_scaled(upper, c_ptr, scale_a_ptr, scale_b_ptr, row, col, m, n, sa_m, sb_n, BLOCKS, ROWS,
                          M // 2, N)
            store_scaled(lower, c_ptr, scale_a_ptr, scale_b_ptr, row + M // 2, col, m, n, sa_m, sb_n,
                          BLOCKS, ROWS, M // 2, N)


@triton.jit
def _fp8_gemm_persistent_fast_kernel(a, b, c_ptr, scale_a_ptr, scale_b_ptr, tiles, m, n, k, sa_m, sb_n,
                                     GROUP: tl.constexpr, ROWS: tl.constexpr, M: tl.constexpr,
                                     N: tl.constexpr, K: tl.constexpr):
    """Every so-manieth [M, N] tile of c, whose products over k are summed in the tensor core alone."""
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True):
        row, col = place(tile, m, n, GROUP, M, N)
        acc = tl.zeros([M, N], tl.float32)
        for k0 in range(0, k, K):
            acc = tl.dot(a.load([row, k0]), b.load([col, k0]).T, acc, out_dtype=tl.float32)
        store_scaled(acc, c_ptr, scale_a_ptr, scale_b_ptr, row, col, m, n, sa_m, sb_n, False, ROWS, M, N)


@triton.jit
def _fp8_gemm_splitk_kernel(a_ptr, scale_a_ptr, b_ptr, scale_b_ptr, partial_ptr, m, n, k, per_split, a_m, a_k,
                            b_n, b_k, sa_m, sa_k, sb_n, sb_k,
                            BLOCKS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """partial[split, m, n]: one [M, N] tile over per_split blocks of k, without the scales of rows and
    tensors."""
    split = tl.program_id(2)
    rm = (tl.program_id(0) * M + tl.arange(0, M)).to(tl.int64)
    rn = (tl.program_id(1) * N + tl.arange(0, N)).to(tl.int64)
    last = tl.minimum((split + 1) * per_split, tl.cdiv(k, K))
    acc = accumulate(a_ptr, scale_a_ptr, b_ptr, scale_b_ptr, rm, rn, m, n, k, split * per_split, last, a_m,
                      a_k, b_n, b_k, sa_m, sa_k, sb_n, sb_k,
                      BLOCKS, 128, M, N, K)
    tl.store(partial_ptr + (split.to(tl.int64) * m + rm[:, None]) * n + rn[None, :], acc,
             mask=(rm < m)[:, None] & (rn < n)[None, :])


@triton.jit
def _fp8_gemm_sum_kernel(partial_ptr, scale_a_ptr, scale_b_ptr, c_ptr, m, n, splits, sa_m, sb_n,
                         BLOCKS: tl.constexpr, ROWS: tl.constexpr,
                         M: tl.constexpr, N: tl.constexpr):
    """One [M, N] tile of c: the partial sums in the order of the splits, then the scales."""
    rm = (tl.program_id(0) * M + tl.arange(0, M)).to(tl.int64)
    rn = (tl.program_id(1) * N + tl.arange(0, N)).to(tl.int64)
    inside = (rm < m)[:, None] & (rn < n)[None, :]
    acc = tl.zeros([M, N], tl.float32)
    for split in range(0, splits):
        acc += tl.load(partial_ptr + (split * m + rm[:, None]) * n + rn[None, :], mask=inside, other=0.0)
    if not BLOCKS:
        acc = scaled(acc, scale_a_ptr, scale_b_ptr, rm, rn, m, n, sa_m, sb_n, ROWS)
    tl.store(c_ptr + rm[:, None] * n + rn[None, :], acc.to(c_ptr.dtype.element_ty), mask=inside)


def forward_tiled(a, scale_a, b, scale_b, *, scaling, out):
    """a [m, k], b [n, k] and their scales -> c [m, n] in the dtype named by out."""
    return tiled(a, scale_a, b, scale_b, DTYPES[out])


def forward_splitk(a, scale_a, b, scale_b, *, scaling, out):
    """a [m, k], b [n, k] and their scales -> c [m, n] in the dtype named by out."""
    (m, k), n = a.shape, b.shape[0]
    c = torch.empty((m, n), dtype=DTYPES[out], device=a.device)
    if not c.numel():
        return c
    tile_m, tile_n = tile_side(m, TILE_MAX), tile_side(n, TILE_MAX)
    grid = (ceildiv(m, tile_m), ceildiv(n, tile_n))
    per_split = max(1, ceildiv(ceildiv(k, BLOCK_K), SPLITS))
    splits = max(1, ceildiv(ceildiv(k, BLOCK_K), per_split))
    partial = torch.empty((splits, m, n), dtype=torch.float32, device=a.device)
    block, row, warps = scaling == "block", scaling == "row", 8 if tile_m * tile_n > 8192 else 4
    _fp8_gemm_splitk_kernel[(*grid, splits)](a, scale_a, b, scale_b, partial, m, n, k, per_split, *a.stride(),
                                             *b.stride(), *strides(scale_a),
                                             *strides(scale_b), BLOCKS=block, M=tile_m, N=tile_n, K=BLOCK_K,
                                             num_warps=warps)
    _fp8_gemm_sum_kernel[grid](partial, scale_a, scale_b, c, m, n, splits, scale_a.stride(0),
                               scale_b.stride(0), BLOCKS=block, ROWS=row,
                               M=tile_m, N=tile_n, num_warps=warps)
    return c


def forward_persistent(a, scale_a, b, scale_b, *, scaling, out):
    """a [m, k], b [n, k] and their scales -> c [m, n] in the dtype named by out; of what _accepts_persistent
    lets through."""
    (m, k), n = a.shape, b.shape[0]
    c = torch.empty((m, n), dtype=DTYPES[out], device=a.device)
    tile_m, tile_n = (max(2, tile_side(size, BLOCK_K)) if INTERPRETED else BLOCK_K for size in (m, n))
    tiles, block = ceildiv(m, tile_m) * ceildiv(n, tile_n), scaling == "block"
    left = described(a, [tile_m if block else tile_m // 2, BLOCK_K])
    right = described(b, [tile_n // 2 if block else tile_n, BLOCK_K])
    # Two programs of a multiprocessor share its 65,536 registers.
    _fp8_gemm_persistent_kernel[(min(2 * PLACES, tiles),)](
        left, right, c, scale_a, scale_b, tiles, m, n, k, *strides(scale_a), *strides(scale_b), GROUP=GROUP,
        BLOCKS=block, ROWS=scaling == "row", M=tile_m, N=tile_n, K=BLOCK_K, num_stages=3,
        **({"num_warps": 8, "maxnreg": 128} if block else {"num_warps": 4}))
    return c


def forward_persistent_fast(a, scale_a, b, scale_b, *, scaling, out):
    """a [m, k], b [n, k] and their scales, of tensors or rows -> c [m, n] in the dtype named by out; of what
    _accepts_persistent lets through."""
    (m, k), n = a.shape, b.shape[0]
    c = torch.empty((m, n), dtype=DTYPES[out], device=a.device)
    tile_m, tile_n = (tile_side(m, 128), tile_side(n, 128)) if INTERPRETED else (128, 256)
    if out == "fp32":  # the tile waits in shared memory before it is stored
        tile_n = min(tile_n, 128)
    tiles = ceildiv(m, tile_m) * ceildiv(n, tile_n)
    _fp8_gemm_persistent_fast_kernel[(min(PLACES, tiles),)](
        described(a, [tile_m, BLOCK_K]), described(b, [tile_n, BLOCK_K]), c, scale_a, scale_b, tiles, m, n, k,
        scale_a.stride(0), scale_b.stride(0), GROUP=GROUP, ROWS=scaling == "row", M=tile_m, N=tile_n,
        K=BLOCK_K, num_stages=3, num_warps=8)
    return c


def _two_products(function):
    """The backward that multiplies with function."""
    def backward(g, scale_g, bt, scale_bt, gt, scale_gt, at, scale_at, *, scaling, out):
        return function(g, scale_g, bt, scale_bt, scaling=scaling, out=out), function(gt, scale_gt, at,
            scale_at, scaling=scaling, out=out)
    return backward


# ---- torch


def _dequantised(x, scale, scaling: str, rows: int, dtype: torch.dtype):
    """x * scale in dtype; a scale of block scaling covers rows x 128 elements."""
    x, scale = x.to(dtype), scale.to(dtype)
    if scaling == "block":
        scale = scale.repeat_interleave(rows, 0)[:x.shape[0]].repeat_interleave(BLOCK_K, 1)[:, :x.shape[1]]
    elif scaling == "row":
        scale = scale[:, None]
    return x * scale


def reference(a, scale_a, b, scale_b, *, scaling, out):
    """The formula in torch: in a's dtype, fp8 in fp32. out is not applied; differentiable."""
    dtype = torch.float32 if a.dtype.itemsize == 1 else a.dtype
    return _dequantised(a, scale_a, scaling, 1, dtype) @ _dequantised(b, scale_b, scaling, BLOCK_K, dtype).T


reference_backward = _two_products(reference)


def forward_dequant(a, scale_a, b, scale_b, *, scaling, out):
    """a [m, k], b [n, k] and their scales -> c [m, n]: the product in fp32, rounded once."""
    return reference(a, scale_a, b, scale_b, scaling=scaling, out=out).to(DTYPES[out])


def _scaled_mm(a, scale_a, b, scale_b, scaling: str, out: str, fast: bool):
    """torch._scaled_mm on operands as it wants them: dense, with scales that broadcast (for block scaling a's
    with rows innermost)."""
    if scaling == "row":
        scale_a, scale_b = scale_a[:, None].contiguous(), scale_b[None, :].contiguous()
    elif scaling == "block":
        scale_a, scale_b = scale_a.T.contiguous().T, tile_scales(scale_b)
    return torch._scaled_mm(a.contiguous(), b.contiguous().T, scale_a=scale_a, scale_b=scale_b,
                            out_dtype=DTYPES[out], use_fast_accum=fast).contiguous()


@functools.cache
def _refused(scaling: str, out: str, a_dtype: torch.dtype, b_dtype: torch.dtype, m: int, n: int, k: int,
             fast: bool, device: str) -> str:
    """What this build of torch says against a call of a representative size, "" for nothing. It gets ones;
    what it answers is not looked at: that is judged."""
    a, b = torch.ones((m, k), device=device).to(a_dtype), torch.ones((n, k), device=device).to(b_dtype)
    shapes = {"tensor": ((1,), (1,)), "row": ((m,), (n,)), "block": ((m, ceildiv(k, BLOCK_K)),
        (ceildiv(n, BLOCK_K), ceildiv(k, BLOCK_K)))}[scaling]
    scale_a, scale_b = (torch.ones(shape, device=device) for shape in shapes)
    try:
        _scaled_mm(a, scale_a, b, scale_b, scaling, out, fast)
    except (RuntimeError, ValueError, NotImplementedError) as e:
        return str(e).splitlines()[0].split("please report a bug to PyTorch. ")[-1]
    return ""


def _representative(size: int, blocks: bool = False) -> int:
    """A small size that stands for this one: it is a multiple of 128, 16 and 4 where this one is, and has,
    with blocks, as many 128-blocks modulo 4."""
    if size == 0:
        return 0
    last = (128 if size % 128 == 0 else 16 * (1 + 2 * (size > 16)) if size % 16 == 0 else 20 if size % 4 == 0
            else 17)
    before = (size - 1) // BLOCK_K if blocks else 0
    return last + BLOCK_K * (before if before < 4 else 4 + before % 4)


def _accepts_triton(direction, a, *rest, scaling, out):
    """Triton has no conversion of its own for e4m3, which every product has, below 8.9."""
    return too_old(a.device, "Triton's e4m3", (8, 9))


def _accepts_persistent(name: str, blocks: bool):
    """What triton/NAME takes: operands that the copy engine reads, with scales of blocks or without."""
    def accepts(direction, *inputs, scaling, out):
        if scaling == "block" and not blocks:
            return f"fp8_gemm/triton/{name}: every block has its scales, so that nothing is summed further"
        for x in inputs[::2]:
            if why := not_described(x, "an operand", 1):
                return f"fp8_gemm/triton/{name}: {why}"
        what = "a tile of 128 x 128 in the tensor cores' shared memory"
        return too_old(inputs[0].device, what, (9, 0), below=None if blocks else (12, 0))
    return accepts


def _accepts_scaled_mm(fast: bool):
    def accepts(direction, *inputs, scaling, out):
        name = "fp8_gemm/torch/scaled_mm_fast" if fast else "fp8_gemm/torch/scaled_mm"
        for a, b in ((inputs[i], inputs[i + 2]) for i in range(0, len(inputs), 4)):
            (m, k), n = a.shape, b.shape[0]
            if a.device.type == "cuda" and any(t.is_contiguous() and t.data_ptr() % 16 for t in (a, b)):
                return f"{name}: an operand does not begin at a multiple of 16 bytes, which cuBLASLt asks for"
            if m and n:
                sizes = _representative(m), *(_representative(s, scaling == "block") for s in (n, k))
                if why := _refused(scaling, out, a.dtype, b.dtype, *sizes, fast, a.device.type):
                    return (f"{name}: {scaling} scaling, out {out}, m {m}, n {n}, k {k}: "
                            f"torch {torch.__version__} on {a.device.type} refuses: {why}")
        return None
    return accepts


def _forward_scaled_mm(fast: bool):
    def forward(a, scale_a, b, scale_b, *, scaling, out):
        if not a.shape[0] or not b.shape[0]:
            return torch.empty((a.shape[0], b.shape[0]), dtype=DTYPES[out], device=a.device)
        return _scaled_mm(a, scale_a, b, scale_b, scaling, out, fast)
    return forward


def _row(name: str, function, contract: str = "promoted", **more) -> Implementation:
    return Implementation(name, function, _two_products(function), outputs=("c",),
                          gradients=("grad_a", "grad_b"), contract=contract, dtypes=CASES,
                          backward_dtypes=("e4m3",), **more)


def forward_deepgemm(a, scale_a, b, scale_b, *, scaling, out):
    """a [m, k], b [n, k], both with scales of blocks -> c [m, n] in bf16."""
    import deep_gemm
    c = torch.empty((a.shape[0], b.shape[0]), dtype=torch.bfloat16, device=a.device)
    deep_gemm.fp8_gemm_nt((a, scale_a), (b, scale_b), c)
    return c


def _accepts_deepgemm(direction, a, scale_a, b, scale_b, *, scaling, out):
    return declined("fp8_gemm/deepgemm/kernel", scaling == "block", out, a, b)


_NEWER = "a GPU of compute capability 8.9 or newer, or none"

_ROWS = "rows that begin at 16 bytes; no size 0; on a GPU, 9.0 or newer"

_TAKEN = "sizes that this build of torch does not refuse, from a multiple of 16 bytes on"

IMPLEMENTATIONS = [
    _row("triton/tiled", forward_tiled, accepts=_accepts_triton, constraint=_NEWER),
    _row("triton/splitk", forward_splitk, accepts=_accepts_triton, constraint=_NEWER),
    _row("triton/persistent", forward_persistent, accepts=_accepts_persistent("persistent", True),
         constraint=_ROWS),
    _row("triton/persistent_fast", forward_persistent_fast, contract="fast",
         accepts=_accepts_persistent("persistent_fast", False), constraint=f"no scales of blocks; {_ROWS}"),
    _row("torch/scaled_mm", _forward_scaled_mm(False), accepts=_accepts_scaled_mm(False), constraint=_TAKEN),
    _row("torch/dequant", forward_dequant),
    *beside_peers(_row("torch/compile", compile_for(_forward_scaled_mm(False)),
                       accepts=_accepts_scaled_mm(False), constraint=_TAKEN, compiled=True)),
    Implementation("deepgemm/kernel", forward_deepgemm, outputs=("c",), contract="promoted", dtypes=("e4m3",),
                   module="deep_gemm", accepts=_accepts_deepgemm, constraint=DEEPGEMM_TAKES),
]
if torch.cuda.is_available() and not INTERPRETED:
    IMPLEMENTATIONS.append(_row("torch/scaled_mm_fast", _forward_scaled_mm(True), contract="fast",
                                accepts=_accepts_scaled_mm(True), constraint=_TAKEN))
