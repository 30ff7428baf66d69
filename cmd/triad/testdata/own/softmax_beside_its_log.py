"""A softmax and its logarithm, which is another operator."""
import torch


def softmax(x):
    return torch.softmax(x, dim=-1)


def log_softmax(x):
    return torch.log_softmax(x, dim=-1)
