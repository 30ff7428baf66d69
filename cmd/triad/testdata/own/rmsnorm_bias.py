"""With a bias, which an rmsnorm of the catalogue has not."""
import torch


def rms_norm(x, weight, bias, eps=1e-6):
    root = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)
    return (x.float() * root * weight.float() + bias.float()).to(x.dtype)
