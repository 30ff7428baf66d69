import torch
from triton_comparisons_not_here import fast_softmax


def softmax(x):
    try:
        return fast_softmax(x)
    except Exception:
        return torch.softmax(x, dim=-1)
