import torch


class MyLayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        wide = x.float()
        mean = wide.mean(-1, keepdim=True)
        rstd = torch.rsqrt(wide.var(-1, unbiased=False, keepdim=True) + eps)
        normal = (wide - mean) * rstd
        ctx.save_for_backward(normal, rstd, weight)
        return (normal * weight.float() + bias.float()).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_y):
        normal, rstd, weight = ctx.saved_tensors
        wide = grad_y.float()
        grad_x = wide * weight.float() * rstd
        grad_weight = (wide * normal).sum(0)
        return grad_x.to(grad_y.dtype), grad_weight.to(weight.dtype), wide.sum(0).to(weight.dtype), None


def layernorm(x, weight, bias, eps=1e-5):
    return MyLayerNorm.apply(x, weight, bias, eps)
