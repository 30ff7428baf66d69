import torch
from einops import rearrange


def softmax(x):
    return rearrange(torch.softmax(x, dim=-1), "r c -> r c")
