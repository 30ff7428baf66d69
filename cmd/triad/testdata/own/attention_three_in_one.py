"""Attention of one tensor that holds queries, keys and values: [batch, seq, 3, heads, head_dim]."""
import torch


def attend(qkv):
    q, k, v = (part.transpose(1, 2) for part in qkv.unbind(dim=2))
    weights = torch.softmax(q @ k.mT * q.shape[-1] ** -0.5, dim=-1)
    return (weights @ v).transpose(1, 2)
