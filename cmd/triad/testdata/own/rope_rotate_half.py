import torch

def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)

def apply_rotary_emb(x, cos, sin):
    return (x * cos) + (rotate_half(x) * sin)
