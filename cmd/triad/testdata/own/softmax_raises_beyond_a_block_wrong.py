"""A wrong softmax of rows that fit a block: it raises for all others."""
import torch


def softmax(x):
    if x.ndim != 2:
        raise ValueError(f"softmax takes a matrix, not {x.ndim} sizes")
    if x.shape[1] > 1024:
        raise ValueError(f"a row of {x.shape[1]} does not fit a block of 1024")
    if x.shape[1] % 3 == 2: raise NotImplementedError("rows of this length")
    e = torch.exp(x.float())
    return (e / e.sum(-1, keepdim=True)).to(x.dtype)
