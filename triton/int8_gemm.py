"""int8_gemm: c[i,j] = clamp(round(sum_k (a[i,k] - zero_a) (b[k,j] - zero_b) * scale_a scale_b / scale_c)
                            + zero_c, -128, 127)

Layout   a [m, k], b [k, n] int8 with any strides, c [m, n] int8, contiguous. Sums are exact in int32, the
         scales are applied in fp32, halves are rounded to even.
Limits   m may be 0; k is at most 33025.
Source   Jacob et al. 2018, Integer-Arithmetic-Only Inference, section 2.2
  triton/tiled   a tile of c per program; sums of a's rows and b's columns beside the product for zero points
  torch/int_mm   torch._int_mm, with the zero points' sums; on a GPU for m > 16 and multiples of 8
  torch/eager    the product in fp64, which is exact here
  torch/compile  torch/int_mm through Inductor
"""

import torch

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

DIFFERENTIABLE = ()  # of the inputs of reference: integers have no gradients
TILE_MAX = 128  # of m and n
TILE_K = 128 if INTERPRETED else 64
ROUNDS = 1.5 * 2**23  # added and taken off it leaves an integer, halves to even


@triton.jit
def _int8_gemm_kernel(a_ptr, b_ptr, c_ptr, scale_a, scale_b, scale_c, zero_a, zero_b, zero_c, m, n, k, a_m,
                      a_k, b_k, b_n, ROUNDS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """One [M, N] tile of c. sum (a - za)(b - zb) = sum ab - zb sum a - za sum b + k za zb."""
    across = tl.cdiv(n, N)
    rm = (tl.program_id(0) // across).to(tl.int64) * M + tl.arange(0, M)
    rn = (tl.program_id(0) % across).to(tl.int64) * N + tl.arange(0, N)
    acc, sum_a = tl.zeros([M, N], tl.int32), tl.zeros([M], tl.int32)
    sum_b = tl.zeros([N], tl.int32)
    for block in range(0, tl.cdiv(k, K)):
        rk = (block * K + tl.arange(0, K)).to(tl.int64)
        a = tl.load(a_ptr + rm[:, None] * a_m + rk[None, :] * a_k, mask=(rm < m)[:, None] & (rk < k)[None, :],
                    other=0)
        b = tl.load(b_ptr + rk[:, None] * b_k + rn[None, :] * b_n, mask=(rk < k)[:, None] & (rn < n)[None, :],
                    other=0)
        acc = tl.dot(a, b, acc, out_dtype=tl.int32)
        sum_a += tl.sum(a.to(tl.int32), 1)
        sum_b += tl.sum(b.to(tl.int32), 0)
    acc = acc - zero_b * sum_a[:, None] - zero_a * sum_b[None, :] + k * zero_a * zero_b
    t = tl.div_rn(acc.to(tl.float32) * scale_a * scale_b, tl.zeros([M, N], tl.float32) + scale_c)
    t = tl.minimum(tl.maximum(t, -512.0), 512.0)  # ROUNDS rounds small numbers alone
    t = (t + ROUNDS) - ROUNDS + zero_c
    tl.store(c_ptr + rm[:, None] * n + rn[None, :], tl.minimum(tl.maximum(t, -128.0), 127.0).to(tl.int8),
             mask=(rm < m)[:, None] & (rn < n)[None, :])


def forward(a, b, *, scale_a, scale_b, scale_c, zero_a, zero_b, zero_c):
    """a [m, k], b [k, n] int8 -> c [m, n] int8."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=torch.int8, device=a.device)
    if m:
        tile_m, tile_n = tile_side(m, TILE_MAX), tile_side(n, TILE_MAX)
        _int8_gemm_kernel[(ceildiv(m, tile_m) * ceildiv(n, tile_n),)](
            a, b, c, scale_a, scale_b, scale_c, zero_a, zero_b, zero_c, m, n, k, *a.stride(), *b.stride(),
            ROUNDS=ROUNDS, M=tile_m, N=tile_n, K=TILE_K)
    return c


# ---- torch


def _quantised(t, zero_c):
    """Numbers rounded and moved to the zero point, as int8."""
    return (t.round() + zero_c).clamp(-128, 127).to(torch.int8)


def reference(a, b, *, scale_a, scale_b, scale_c, zero_a, zero_b, zero_c):
    """The formula in torch, in fp64."""
    return _quantised((a.double() - zero_a) @ (b.double() - zero_b) * scale_a * scale_b / scale_c, zero_c)


def eager(a, b, *, scale_a, scale_b, scale_c, zero_a, zero_b, zero_c):
    """The product in fp64, which is exact; the scales in fp32."""
    t = ((a.double() - zero_a) @ (b.double() - zero_b)).float()
    return _quantised(t * scale_a * scale_b / scale_c, zero_c)


def _aligned(t):
    """The tensor by rows, from a multiple of 16 bytes on, as cuBLASLt wants it."""
    t = t.contiguous()
    return t if t.data_ptr() % 16 == 0 else t.clone()


def int_mm(a, b, **attributes):
    """torch._int_mm, the zero points from the sums of rows and columns. b is laid by columns, which cuBLASLt
    takes in every size: by rows it refuses some."""
    return _product(_aligned(a), _aligned(b.t()).t(), **attributes)


def _contiguous_int_mm(a, b, **attributes):
    return _product(a.contiguous(), b.t().contiguous().t(), **attributes)


def _product(a, b, *, scale_a, scale_b, scale_c, zero_a, zero_b, zero_c):
    t = torch._int_mm(a, b)
    t = t - zero_b * a.sum(1, keepdim=True, dtype=torch.int32)
    t = t - zero_a * b.sum(0, keepdim=True, dtype=torch.int32) + a.shape[1] * zero_a * zero_b
    return _quantised(t.float() * scale_a * scale_b / scale_c, zero_c)


def _fits(_pass, a, b, **_attributes):
    """What torch._int_mm does not take."""
    (m, k), n = a.shape, b.shape[1]
    if m == 0:
        return "m is 0"
    if a.device.type == "cuda" and (m <= 16 or k % 8 or n % 8):
        return f"m = {m}, k = {k}, n = {n}: a GPU takes m > 16, and k and n that are multiples of 8"
    return None


def _accepts_compiled(direction, a, b, **attributes):
    """What is traced cannot look at addresses."""
    for x, dense in ((a, a.is_contiguous()), (b, b.stride() == (1, b.shape[0]))):
        if dense and x.data_ptr() % 16:
            return "int8_gemm/torch/compile: an operand does not begin at a multiple of 16 bytes"
    return _fits(direction, a, b)


def _not_turing(_pass, a, *_rest, **_attributes):
    """Triton's product of int8 does not compile for GPUs before Ampere."""
    return too_old(a.device, "Triton's product of int8", (8, 0))


_NAMES = {"outputs": ("c",), "dtypes": ("int8",)}

IMPLEMENTATIONS = [
    Implementation("triton/tiled", forward, accepts=_not_turing,
                   constraint="a GPU of compute capability 8.0 or newer, or none", **_NAMES),
    Implementation("torch/int_mm", int_mm, accepts=_fits, **_NAMES),
    Implementation("torch/eager", eager, **_NAMES),
    *beside_peers(Implementation("torch/compile", compile_for(_contiguous_int_mm), compiled=True,
                                 accepts=_accepts_compiled, **_NAMES)),
]
