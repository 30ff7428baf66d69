import torch
from triton_comparisons_not_here import exponentials


def softmax(x):
    z = exponentials(x - x.max(dim=-1, keepdim=True).values)
    return z / z.sum(dim=-1, keepdim=True)
