"""The same, and no line names the sizes."""
import torch


def attention(q, k, v):
    scores = torch.einsum("bshd,bthd->bhst", q, k) * q.shape[-1] ** -0.5
    return torch.einsum("bhst,bthd->bshd", scores.softmax(-1), v)
