import math

import torch


def gelu(x: torch.Tensor, approximate: bool = True) -> torch.Tensor:
    y = x.float()
    if not approximate:
        inner = math.sqrt(2.0 / math.pi) * (y + 0.044715 * y.pow(3))
        return (0.5 * y * (1.0 + torch.tanh(inner))).to(x.dtype)
    return (0.5 * y * (1.0 + torch.erf(y / math.sqrt(2.0)))).to(x.dtype)
