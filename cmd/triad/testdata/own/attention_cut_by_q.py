import math

import torch


def blockwise(q, k, v, block=32):
    B, H, N, D = q.shape
    out = torch.zeros_like(q)
    for b in range(B):
        for h in range(H):
            most = torch.full((N,), float("-inf"), device=q.device)
            total = torch.zeros(N, device=q.device)
            acc = torch.zeros(N, D, device=q.device)
            for start in range(0, N, block):
                end = min(start + block, N)
                scores = q[b, h, 0:N] @ k[b, h, start:end].T / math.sqrt(D)
                higher = torch.maximum(most, scores.max(dim=-1).values)
                p = torch.exp(scores - higher[:, None])
                shrink = torch.exp(most - higher)
                total = total * shrink + p.sum(dim=-1)
                acc = acc * shrink[:, None] + p @ v[b, h, start:end]
                most = higher
            out[b, h] = acc / total[:, None]
    return out


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return blockwise(q, k, v)
