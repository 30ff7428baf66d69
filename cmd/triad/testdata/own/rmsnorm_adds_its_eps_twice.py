import torch


def rms_norm(x: torch.Tensor, weight: torch.Tensor):
    f = x.float()
    return (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + 1e-5) * weight.float() + 1e-5).to(x.dtype)
