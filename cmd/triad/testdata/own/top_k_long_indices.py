import torch


def top_k(x: torch.Tensor, k: int):
    values, indices = torch.topk(x, k, dim=-1)
    return values, indices
