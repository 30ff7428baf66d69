"""Wrong attention of tokens that hold their heads, without a batch."""
import math
import torch


def attention(q, k, v):
    """q, k, v: [seq_len, num_heads, head_dim]"""
    seq, heads, d = q.shape
    scores = torch.einsum("qhd,khd->hqk", q.float(), k.float()) / math.sqrt(heads)
    p = torch.softmax(scores, dim=-1)
    return torch.einsum("hqk,khd->qhd", p, v.float()).to(q.dtype)
