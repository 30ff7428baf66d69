import triton
import triton.language as tl


@triton.jit
def product_kernel(
    a, b, c, M, N, K,
    stride_am, stride_an, stride_bn, stride_bk, stride_cm, stride_ck,
    TILE: tl.constexpr = 32,
):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    cols = tl.program_id(1) * TILE + tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for start in range(0, N, TILE):
        inner = start + tl.arange(0, TILE)
        left = tl.load(
            a + rows[:, None] * stride_am + inner[None, :] * stride_an,
            mask=(rows[:, None] < M) & (inner[None, :] < N), other=0.0,
        )
        right = tl.load(
            b + cols[None, :] * stride_bn + inner[:, None] * stride_bk,
            mask=(inner[:, None] < N) & (cols[None, :] < K), other=0.0,
        )
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(
        c + rows[:, None] * stride_cm + cols[None, :] * stride_ck, total,
        mask=(rows[:, None] < M) & (cols[None, :] < K),
    )
