import triton
import triton.language as tl


@triton.jit
def filter_around(signal, taps, out, n, k, BLOCK: tl.constexpr):
    at = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    i = at + j - k // 2
    inside = (i >= 0) & (i < n - 1) & (j < k)
    x = tl.load(signal + i, mask=inside, other=0.0)
    w = tl.load(taps + j, mask=j < k, other=0.0)
    tl.store(out + at, tl.sum(x * w))


# A, B and C lie on the device
def solution(A, B, C, N: int, K: int):
    filter_around[(N,)](A, B, C, N, K, BLOCK=triton.next_power_of_2(K))
