import torch


def rmsnorm(x, residual, weight, eps=1e-6):
    h = x.float() + residual.float()
    y = h * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps) * weight.float()
    return y.to(x.dtype)
