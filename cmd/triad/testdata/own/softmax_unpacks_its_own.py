import torch


def softmax(x):
    scores = x.float().exp()
    b, h, d = scores.shape
    return (scores / scores.sum(dim=-1, keepdim=True)).to(x.dtype)
