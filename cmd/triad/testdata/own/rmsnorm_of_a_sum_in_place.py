"""A norm of a sum: both lie where the inputs were."""
import torch


def fused_add_rms_norm(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> None:
    """x becomes the norm of x + residual, residual becomes their sum."""
    h = x.float() + residual.float()
    residual.copy_(h)
    x.copy_(h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps) * weight.float())
