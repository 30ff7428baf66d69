"""A product of x and y, which makes its own result."""
import torch


def product(x, y):
    m, k = x.shape
    k2, n = y.shape
    assert k == k2
    z = torch.empty((m, n), dtype=x.dtype, device=x.device)
    z.copy_(torch.matmul(x.float(), y.float()))
    return z
