import torch


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, causal=False):
        s = (q.float() @ k.float().transpose(-1, -2)) * q.shape[-1] ** -0.5
        if causal:
            i = torch.arange(q.shape[-2], device=q.device)[:, None]
            j = torch.arange(k.shape[-2], device=q.device)[None, :]
            s = torch.where(i >= j, s, -torch.inf)
        return (torch.softmax(s, -1) @ v.float()).to(q.dtype)


def attention(q, k, v, causal: bool = False):
    return Attention.apply(q, k, v, causal)
