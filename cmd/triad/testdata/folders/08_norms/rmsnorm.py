import torch


class MyRMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        scale = torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, scale)
        return x * scale * weight

    @staticmethod
    def backward(ctx, grad_y):
        x, weight, scale = ctx.saved_tensors
        return grad_y * weight * scale, (grad_y * x * scale).sum(0), None


def rmsnorm(x, weight, eps=1e-6):
    return MyRMSNorm.apply(x, weight, eps)
