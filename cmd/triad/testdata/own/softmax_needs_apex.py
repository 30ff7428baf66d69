import torch
from apex import softmax as fused


def softmax(x):
    return fused(torch.atleast_2d(x))
