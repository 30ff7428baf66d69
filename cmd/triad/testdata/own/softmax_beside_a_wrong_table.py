import torch

TABLE = torch.arange(6).view(2, 2)


def softmax(x):
    return torch.softmax(x, dim=-1)
