import torch


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    batch, seq_len, hidden = x.shape
    y = x.float()
    y = y * torch.rsqrt(y.pow(2).mean(1, keepdim=True) + eps)
    return (y * weight.float()).to(x.dtype)
