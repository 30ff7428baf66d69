"""A wrong norm as an autograd function whose backward is not written yet."""
import torch


class LayerNorm(torch.autograd.Function):
    @classmethod
    def forward(cls, ctx, x, weight, bias, eps=1e-5):
        f = x.float()
        mean = f.mean(-1, keepdim=True)
        rstd = torch.rsqrt(f.var(-1, unbiased=False, keepdim=True) + eps)
        return ((f - mean) * rstd * weight.float() + bias.float()).to(x.dtype)

    @staticmethod
    def backward(ctx, dy):
        return dy, None, dy.sum(0), dy.sum(0), dy


layer_norm = LayerNorm.apply
