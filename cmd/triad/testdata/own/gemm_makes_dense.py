"""Makes its tensors dense first, the result too."""
import torch


def solve(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, BATCH: int, M: int, N: int, K: int):
    a = a.contiguous()
    b = b.contiguous()
    c = c.contiguous()
    torch.bmm(a, b, out=c)
