"""Attention over tensors of PyTorch in which a token's heads lie beside each other."""
import torch


def attention(q, k, v):
    B, S, H, D = q.shape
    scores = torch.einsum("bshd,bthd->bhst", q, k) * D ** -0.5
    return torch.einsum("bhst,bthd->bshd", scores.softmax(-1), v)
