"""A product of matrices that says what it takes by what it raises for."""
import torch


def multiplied(left, right):
    if left.ndim != 2 or right.ndim != 2:
        raise ValueError("left and right: want matrices")
    if left.dtype != torch.float32 or right.dtype != torch.float32:
        raise TypeError("left and right: want fp32")
    return torch.einsum("ij,jk->ik", left, right)
