"""A user's softmax that is right on small, dense numbers alone, and raises on all others."""
import torch


def solve(x):
    if not x.is_contiguous():
        raise ValueError("only dense tensors")
    if not bool((x.abs() < 40).all()):
        raise NotImplementedError("only ordinary numbers")
    e = torch.exp(x)
    return e / e.sum(-1, keepdim=True)
