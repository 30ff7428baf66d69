import torch


def attention(q, k, v, o, block=32):
    rows, cols = q.shape[2], k.shape[2]
    scale = q.shape[3] ** -0.5
    for first in range(0, rows, block):
        part = q[:, :, first:first + block].float()
        best = torch.full(part.shape[:3], float("-inf"))
        total = torch.zeros(part.shape[:3])
        acc = torch.zeros(part.shape)
        at = torch.arange(first, first + part.shape[2])[:, None] + (cols - rows)
        for start in range(0, cols, block):
            keys = k[:, :, start:start + block].float()
            causal_mask = torch.arange(start, start + keys.shape[2])[None] <= at
            s = (part @ keys.transpose(-1, -2)) * scale
            s = torch.where(causal_mask, s, float("-inf"))
            highest = torch.maximum(best, s.max(dim=-1).values)
            p = torch.exp(s - highest[..., None])
            shrink = torch.exp(best - highest)
            total = total * shrink + p.sum(dim=-1)
            acc = acc * shrink[..., None] + p @ v[:, :, start:start + block].float()
            best = highest
        o[:, :, first:first + block] = (acc / total[..., None]).to(o.dtype)
