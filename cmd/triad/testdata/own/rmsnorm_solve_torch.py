import torch


def rms_norm(x, weight, eps):
    rms = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + eps)
    return (x.float() * rms * weight.float()).to(x.dtype)
