"""A product of halves that keeps its sums in fp32."""
import torch


def product(a, b):
    rows, inner = a.shape
    inner, cols = b.shape
    assert a.dtype == torch.float16 and b.dtype == torch.float16
    out = torch.zeros((rows, cols), dtype=torch.float32, device=a.device)
    for start in range(0, inner, 8):
        out += a[:, start:start + 8].float() @ b[start:start + 8].float()
    return out
