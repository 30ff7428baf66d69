"""Wrong gradients of rope: triton/right is right, the others are it with one line changed."""

import torch

from implementation import Implementation, tl, triton


@triton.jit
def _backward(dy_ptr, cos_ptr, sin_ptr, dx_ptr, seq, heads, offset, HALF: tl.constexpr, INTERLEAVED: tl.constexpr, BUG: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, HALF)
    at = (row // heads % seq + offset) * HALF + i
    cos = tl.load(cos_ptr + at)
    sin = tl.load(sin_ptr + at)
    first = 2 * i if INTERLEAVED else i
    second = 2 * i + 1 if INTERLEAVED else i + HALF
    a = tl.load(dy_ptr + row * 2 * HALF + first).to(tl.float32)
    b = tl.load(dy_ptr + row * 2 * HALF + second).to(tl.float32)
    if BUG == "forward_angle":
        sin = -sin
    da = a * cos + b * sin
    db = b * cos - a * sin
    if BUG == "halved":
        da = da * 0.5
        db = db * 0.5
    if BUG == "halves_swapped":
        tl.store(dx_ptr + row * 2 * HALF + second, da.to(dx_ptr.dtype.element_ty))
        tl.store(dx_ptr + row * 2 * HALF + first, db.to(dx_ptr.dtype.element_ty))
    else:
        tl.store(dx_ptr + row * 2 * HALF + first, da.to(dx_ptr.dtype.element_ty))
        tl.store(dx_ptr + row * 2 * HALF + second, db.to(dx_ptr.dtype.element_ty))


def forward(q, k, cos, sin, interleaved, offset):
    raise NotImplementedError("the gradients alone are here")


def row(bug):
    def backward(cos, sin, dq_out, dk_out, interleaved, offset):
        out = []
        for dy in (dq_out, dk_out):
            dx = torch.empty(dy.shape, dtype=dy.dtype)
            batch, seq, heads, dim = dy.shape
            _backward[(batch * seq * heads,)](dy, cos, sin, dx, seq, heads, offset, HALF=dim // 2, INTERLEAVED=interleaved, BUG=bug)
            out.append(dx)
        return (dq_out * 1, out[1]) if bug == "q_not_turned" else tuple(out)

    return Implementation(f"triton/{bug}", forward, backward, outputs=("q_out", "k_out"), gradients=("grad_q", "grad_k"))


IMPLEMENTATIONS = [row(bug) for bug in ("right", "forward_angle", "halved", "halves_swapped", "q_not_turned")]
