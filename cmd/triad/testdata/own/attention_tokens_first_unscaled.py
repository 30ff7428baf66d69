"""Without the scale: wrong in the order that the comment states."""
import torch


def attention(q, k, v):
    # q, k, v: (batch, seq_len, num_heads, head_dim)
    scores = torch.einsum("bshd,bthd->bhst", q, k)
    return torch.einsum("bhst,bthd->bshd", scores.softmax(-1), v)
