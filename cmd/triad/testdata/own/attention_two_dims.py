import math

import torch


def attention(q, k, v):
    seq, d = q.shape
    weights = torch.softmax(q.float() @ k.float().transpose(0, 1) / math.sqrt(d), dim=-1)
    return (weights @ v.float()).to(q.dtype)
