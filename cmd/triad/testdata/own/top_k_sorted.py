import torch


def topk(x, k):
    values, indices = torch.sort(x, dim=-1, descending=True)
    return values[:, :k], indices[:, :k]
