"""A wrong softmax that is told along which size it works."""
import torch


def softmax(x, dim):
    e = torch.exp(x.float() - x.float().max())
    return (e / e.sum(dim=dim, keepdim=True)).to(x.dtype)
