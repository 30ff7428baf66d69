import triton
import triton.language as tl


@triton.jit
def matmul_kernel(A, B, C, M: tl.int32, K: tl.int32, N: tl.int32, stride_am, stride_ak, stride_bk, stride_bn,
                  stride_cm, stride_cn, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for at in range(0, K, BLOCK_K):
        k = at + tl.arange(0, BLOCK_K)
        a = tl.load(A + m[:, None] * stride_am + k[None, :] * stride_ak, mask=(m[:, None] < M) & (k[None, :] < K), other=0)
        b = tl.load(B + k[:, None] * stride_bk + n[None, :] * stride_bn, mask=(k[:, None] < K) & (n[None, :] < N), other=0)
        total += tl.dot(a, b, input_precision="ieee")
    tl.store(C + m[:, None] * stride_cm + n[None, :] * stride_cn, total.to(C.dtype.element_ty),
             mask=(m[:, None] < M) & (n[None, :] < N))
