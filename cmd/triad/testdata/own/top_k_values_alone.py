import torch


def top_k(x, k):
    return torch.topk(x, k, dim=-1).values
