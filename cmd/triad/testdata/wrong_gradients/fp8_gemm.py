"""Wrong gradients of the fp8 product: triton/right is right, the others are it with one line changed. Scaling by tensor alone."""

import torch

from implementation import Implementation, ceildiv, tl, triton

TILE = 32


@triton.jit
def _product(a_ptr, scale_a_ptr, b_ptr, scale_b_ptr, c_ptr, rows, cols, inner, TILE: tl.constexpr, BUG: tl.constexpr):
    r = tl.program_id(0) * TILE + tl.arange(0, TILE)[:, None]
    c = tl.program_id(1) * TILE + tl.arange(0, TILE)[None, :]
    total = tl.zeros([TILE, TILE], tl.float32)
    last = inner
    if BUG == "last_block_dropped":
        last = inner // TILE * TILE
    for start in range(0, last, TILE):
        k = start + tl.arange(0, TILE)
        a = tl.load(a_ptr + r * inner + k[None, :], mask=(r < rows) & (k[None, :] < inner), other=0.0).to(tl.float32)
        b = tl.load(b_ptr + c * inner + k[:, None], mask=(c < cols) & (k[:, None] < inner), other=0.0).to(tl.float32)
        total += tl.dot(a, b)
    scale = tl.load(scale_a_ptr) * tl.load(scale_b_ptr)
    if BUG == "scale_missing":
        scale = tl.load(scale_b_ptr)
    tl.store(c_ptr + r * cols + c, (total * scale).to(c_ptr.dtype.element_ty), mask=(r < rows) & (c < cols))


def product(a, scale_a, b, scale_b, out, bug):
    c = torch.empty((a.shape[0], b.shape[0]), dtype={"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[out])
    grid = (ceildiv(a.shape[0], TILE), ceildiv(b.shape[0], TILE))
    _product[grid](a, scale_a, b, scale_b, c, a.shape[0], b.shape[0], a.shape[1], TILE=TILE, BUG=bug)
    return c


def forward(a, scale_a, b, scale_b, scaling, out):
    raise NotImplementedError("the gradients alone are here")


def row(bug):
    def backward(g, scale_g, bt, scale_bt, gt, scale_gt, at, scale_at, scaling, out):
        da, db = product(g, scale_g, bt, scale_bt, out, bug), product(gt, scale_gt, at, scale_at, out, bug)
        if bug == "transposed":
            da = da.T.contiguous() if da.shape[0] == da.shape[1] else da
        return (db, da) if bug == "swapped_outputs" else (da, db)

    return Implementation(f"triton/{bug}", forward, backward, outputs=("c",), gradients=("grad_a", "grad_b"), contract="promoted", dtypes=("e4m3",),
                          accepts=lambda direction, *t, scaling, out: None if scaling == "tensor" else "one scale a tensor alone")


IMPLEMENTATIONS = [row(bug) for bug in ("right", "last_block_dropped", "scale_missing", "transposed", "swapped_outputs")]
