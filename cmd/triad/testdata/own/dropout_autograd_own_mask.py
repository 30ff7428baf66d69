# Its random numbers are its own, and its backward draws those of its forward.
import torch
import triton
import triton.language as tl


@triton.jit
def _keep(x_ptr, y_ptr, n, p, scale, seed, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + c, mask=c < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + c, tl.where(tl.rand(seed, c) > p, x * scale, 0.0), mask=c < n)


class Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, p, seed):
        x = x.contiguous()
        y = torch.empty_like(x)
        _keep[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), p, 1 / (1 - p), seed, BLOCK=256)
        ctx.p, ctx.seed = p, seed
        return y

    @staticmethod
    def backward(ctx, dy):
        dy = dy.contiguous()
        dx = torch.empty_like(dy)
        _keep[(triton.cdiv(dy.numel(), 256),)](dy, dx, dy.numel(), ctx.p, 1 / (1 - ctx.p), ctx.seed, BLOCK=256)
        return dx, None, None


def dropout(x, p, seed):
    return Dropout.apply(x, p, seed)
