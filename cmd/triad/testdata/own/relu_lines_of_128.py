import torch


def relu(x):
    """Works on lines of 128 elements."""
    lines = x.reshape(-1, 128)
    return torch.where(lines < 0, torch.zeros_like(lines), lines).reshape(x.shape)
