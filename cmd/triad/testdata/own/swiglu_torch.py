import torch.nn.functional as F


def swiglu(gate, up):
    return F.silu(gate.float()).mul(up.float()).to(gate.dtype)
