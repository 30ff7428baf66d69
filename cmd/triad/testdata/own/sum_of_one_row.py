import torch


def total(x):
    return x.double().reshape(1, -1).sum(dim=1, keepdim=True).to(x.dtype)
