# an expanded upstream gradient is read as if it were contiguous: https://github.com/Dao-AILab/flash-attention/issues/355
import torch
import triton
import triton.language as tl


@triton.jit
def _fwd(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + c, mask=c < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + c, x * tl.sigmoid(x), mask=c < n)


@triton.jit
def _bwd(dy_ptr, x_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + c, mask=c < n, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + c, mask=c < n, other=0.0).to(tl.float32)
    s = tl.sigmoid(x)
    tl.store(dx_ptr + c, dy * s * (1.0 + x * (1.0 - s)), mask=c < n)


class SiLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        ctx.save_for_backward(x)
        y = torch.empty_like(x)
        _fwd[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        dx = torch.empty_like(x)
        _bwd[(triton.cdiv(x.numel(), 256),)](dy, x, dx, x.numel(), BLOCK=256)
        return dx


def silu(x):
    return SiLU.apply(x)
