import torch


def attention(q, k, v, scale, mask=None):
    scores = torch.matmul(q, k.transpose(-2, -1)) + scale
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return torch.matmul(torch.softmax(scores, dim=-1), v)
