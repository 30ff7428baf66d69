import math

import torch


def attention_decode(q, k, v):
    batch, heads, head_dim = q.shape
    scores = torch.einsum("bhd,bhnd->bhn", q, k) / math.sqrt(head_dim)
    return torch.einsum("bhn,bhnd->bhd", torch.softmax(scores, dim=-1), v)
