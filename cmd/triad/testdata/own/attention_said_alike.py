import torch
import torch.nn.functional as F


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, is_causal: bool = True) -> torch.Tensor:
    """Attention of a decoder.

    q: queries (B, heads, T, head_dim)
    k: keys    (B, heads, T, head_dim)
    v: values  (B, heads, T, head_dim)
    """
    out = F.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=is_causal)
    return out.to(q.dtype)
