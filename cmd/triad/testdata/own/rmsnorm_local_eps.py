import torch


def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    eps = 1e-3
    y = x.float()
    return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + eps) * weight.float()).to(x.dtype)
