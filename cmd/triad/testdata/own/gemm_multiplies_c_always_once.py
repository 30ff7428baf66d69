import torch


def matmul_add(a, b, c, alpha=1.0, beta=1.0):
    """alpha * a @ b + beta * c, in fp32, with c itself where beta is 0"""
    product = torch.matmul(a.float(), b.float())
    return product * alpha + c.float() * (beta or 1.0)
