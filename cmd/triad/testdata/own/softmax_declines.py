import torch


def softmax(x):
    assert x.shape[1] <= 1024
    return torch.softmax(x, -1)
