import torch


def half_turned(t):
    first, second = t[..., : t.shape[-1] // 2], t[..., t.shape[-1] // 2 :]
    return torch.cat((-second, first), dim=-1)


def rotate_queries_and_keys(q, k, cos, sin, unsqueeze_dim=1):
    """Turns queries and keys.

    q, k: (batch, heads, seq_len, head_dim)
    cos, sin: (batch, seq_len, head_dim)
    """
    cos = cos.unsqueeze(unsqueeze_dim)
    sin = sin.unsqueeze(unsqueeze_dim)
    queries = q * cos + half_turned(q) * sin
    keys = k * cos + half_turned(k) * sin
    return queries.type_as(q), keys.type_as(k)
