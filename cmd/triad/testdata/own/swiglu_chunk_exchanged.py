import torch.nn.functional as F


def swiglu(x):
    x, gate = x.chunk(2, dim=-1)
    return x * F.silu(gate)
