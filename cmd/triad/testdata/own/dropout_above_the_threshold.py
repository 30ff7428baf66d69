# A word that is the threshold is dropped.
import torch

SIXTEEN = (torch.float16, torch.bfloat16)  # judged in 16 bits too


M0, M1, W0, W1, LOW = 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85, 0xFFFFFFFF


def _philox(n, seed, offset):
    import numpy as np
    groups = (n + 3) // 4
    c = np.arange(groups, dtype=np.uint64) + np.uint64(offset)
    c0, c1 = c & np.uint64(LOW), c >> np.uint64(32)
    c2, c3 = np.zeros_like(c), np.zeros_like(c)
    k0, k1 = seed & LOW, seed >> 32
    for _ in range(10):
        p0, p1 = np.uint64(M0) * c0, np.uint64(M1) * c2
        c0, c1, c2, c3 = (p1 >> np.uint64(32)) ^ c1 ^ np.uint64(k0), p1 & np.uint64(LOW), (p0 >> np.uint64(32)) ^ c3 ^ np.uint64(k1), p0 & np.uint64(LOW)
        k0, k1 = (k0 + W0) & LOW, (k1 + W1) & LOW
    return torch.from_numpy(np.stack([c0, c1, c2, c3], 1).reshape(-1)[:n].astype(np.int64))


def dropout(x, p=0.1, seed=0, offset=0):
    keep = _philox(x.numel(), seed, offset) > round(p * 2**32)
    scale = torch.tensor(1 / (1 - p), dtype=torch.float32)
    y = torch.where(keep, x.float() * scale, 0.0)
    y, mask = y.to(x.dtype), keep
    return y, mask


def dropout_backward(grad_y, p=0.1, seed=0, offset=0):
    keep = _philox(grad_y.numel(), seed, offset) > round(p * 2**32)
    scale = torch.tensor(1 / (1 - p), dtype=torch.float32)
    grad_x = torch.where(keep, grad_y.float() * scale, 0.0)
    return grad_x.to(grad_y.dtype)
