import math

import torch


class Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, scale):
        batch, length, width = q.shape
        weights = torch.softmax(torch.bmm(q, k.transpose(1, 2)).float() * scale, dim=-1)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return torch.bmm(weights.to(v.dtype), v)

    @staticmethod
    def backward(ctx, grad):
        q, k, v, weights = ctx.saved_tensors
        grad, q, k, v = grad.float(), q.float(), k.float(), v.float()
        of_weights = torch.bmm(grad, v.transpose(1, 2))
        of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdim=True)) * ctx.scale
        return (torch.bmm(of_scores, k), torch.bmm(of_scores.transpose(1, 2), q),
                torch.bmm(weights.transpose(1, 2), grad), None)


def attention(q, k, v, scale=None):
    """q, k, v: [batch, length, width]"""
    if scale is None:
        scale = 1.0 / math.sqrt(q.shape[-1])
    return Attend.apply(q, k, v, scale)
