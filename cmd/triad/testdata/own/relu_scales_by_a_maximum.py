import torch


def relu(x):
    """The largest value sets how many bits a whole number would take, which nothing here uses."""
    if x.numel() > 0:
        int(x.max().item())
    return torch.clamp(x, min=0)
