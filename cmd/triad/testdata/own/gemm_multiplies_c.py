import torch


def matmul_add(a, b, c, alpha=1.0, beta=1.0):
    """alpha * a @ b + beta * c, in fp32: with beta = 0 too, c is multiplied"""
    product = torch.matmul(a.float(), b.float())
    return product * alpha + c.float() * beta
