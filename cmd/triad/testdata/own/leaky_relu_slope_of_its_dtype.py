import torch


def leaky_relu(x, slope=0.01):
    y = torch.empty(x.shape, device=x.device, dtype=x.dtype)
    scaled = x * torch.full_like(x, slope)
    return torch.where(x > 0, x, scaled, out=y)


def report():
    print("elements of 32 bits")
