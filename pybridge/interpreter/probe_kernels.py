"""The smallest kernels there are, with which the worker asks whether Triton and the device work at all."""

import triton
import triton.language as tl


@triton.jit
def dot_kernel(a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
               ACCUMULATOR: tl.constexpr):
    """out[M, N] = a[M, K] b[K, N], contiguous, one program."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    tl.store(out_ptr + m[:, None] * N + n[None, :], tl.dot(a, b, out_dtype=ACCUMULATOR))
