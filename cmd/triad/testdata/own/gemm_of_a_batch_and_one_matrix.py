import torch


def matmul(a, b):
    batch, m, k = a.shape
    k, n = b.shape
    return (a.reshape(batch * m, k) @ b).reshape(batch, m, n)
