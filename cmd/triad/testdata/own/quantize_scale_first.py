import torch


def quantize(x):
    largest = x.float().abs().max()
    scale = torch.where(largest == 0, 1.0, (largest / 127).clamp(min=2.0**-126))
    q = (x.float() / scale).round().clamp(-128, 127)
    return scale, q.to(torch.int8)
