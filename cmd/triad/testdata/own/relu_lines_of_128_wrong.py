import torch


def relu(x):
    """Works on lines of 128 elements."""
    lines = x.reshape(-1, 128)
    return torch.where(lines < 0, lines * 0.01, lines).reshape(x.shape)
