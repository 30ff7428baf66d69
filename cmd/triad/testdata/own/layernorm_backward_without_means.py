# both means are missing in grad_x, and grad_bias is three times as large
import torch
class LN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        m = x.float().mean(-1, keepdim=True)
        r = torch.rsqrt(((x.float() - m) ** 2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, m, r)
        return ((x.float() - m) * r * weight.float() + bias.float()).to(x.dtype)
    @staticmethod
    def backward(ctx, g):
        x, w, m, r = ctx.saved_tensors
        h = (x.float() - m) * r
        gx = g.float() * w.float() * r                 # forgot the two means
        return gx.to(x.dtype), (g.float() * h).sum(0).to(w.dtype), 3 * g.float().sum(0).to(w.dtype), None   # bias times 3
