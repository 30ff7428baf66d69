import torch


def matmul(a, b):
    batch, m, k = a.shape
    k, n = b.shape
    return (a[:1].repeat(batch, 1, 1).reshape(batch * m, k) @ b).reshape(batch, m, n)
