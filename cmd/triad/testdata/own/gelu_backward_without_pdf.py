# the backward forgets x * pdf
import torch
class GELU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.nn.functional.gelu(x)
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        cdf = 0.5 * (1 + torch.erf(x / 2 ** 0.5))
        return g * cdf          # forgot x * pdf
