import torch


def attention(q, k, v, causal: bool = False):
    scores = q.float() @ k.float().transpose(-1, -2) / q.shape[-1] ** 0.5
    if causal:
        rows = torch.arange(q.shape[2]).view(-1, 1)
        columns = torch.arange(k.shape[2]).view(1, -1)
        scores = scores.masked_fill(rows + 1 < columns, float("-inf"))
    return (torch.softmax(scores, -1) @ v.float()).to(q.dtype)
