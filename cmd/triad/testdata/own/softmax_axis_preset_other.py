import torch


def naive_softmax(x: torch.Tensor, dim: int = -2) -> torch.Tensor:
    highest, _ = torch.max(x, dim=dim, keepdim=True)
    e = torch.exp(x - highest)
    return e / torch.sum(e, dim=dim, keepdim=True)
