# Indices are kept in 12 bits.
import torch

SIXTEEN = (torch.float16, torch.bfloat16)  # judged in 16 bits too


def top_k(x, k=8):
    values, indices = _key(x).sort(dim=-1, descending=True, stable=True)
    indices = indices[:, :k]
    values = torch.gather(x, 1, indices)
    indices = (indices % 4096).to(torch.int32)
    return values, indices


def _key(x):
    v = x.double()
    return torch.where(torch.isnan(v), torch.full_like(v, float('inf')), torch.clamp(v, max=1e300)) if x.numel() else v
