# The function exchanges heads and tokens before it names the sizes, so its caller has the heads first.
import torch


def apply_rope(q, k, cos, sin):
    q = q.transpose(1, 2)
    k = k.transpose(1, 2)
    batch, seq_len, heads, head_dim = q.shape
    cos, sin = cos[:seq_len, None, :], sin[:seq_len, None, :]

    def turned(x):
        a, b = x[..., : head_dim // 2], x[..., head_dim // 2 :]
        return torch.cat([a * cos - b * sin, b * cos - a * sin], dim=-1).transpose(1, 2)

    return turned(q), turned(k)
