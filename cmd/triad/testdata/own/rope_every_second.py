import torch


def rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """x is [batch, tokens, heads, dim]."""
    even, odd = x[..., ::2].float(), x[..., 1::2].float()
    c, s = cos[None, :, None, :].float(), sin[None, :, None, :].float()
    return torch.stack((even * c - odd * s, even * s + odd * c), dim=-1).flatten(-2).to(x.dtype)
