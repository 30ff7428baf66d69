import torch

USE_MASK = False


def attention(q, k, v):
    scores = q.float() @ k.float().transpose(-2, -1) * q.shape[-1] ** -0.5
    seen = torch.tril(torch.ones_like(scores[0, 0], dtype=torch.bool)) | (not USE_MASK)
    return (scores.masked_fill(~seen, float("-inf")).softmax(-1) @ v.float()).to(q.dtype)
