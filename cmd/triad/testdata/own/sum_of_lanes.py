import torch


def lanes(x):
    pad = torch.cat([x, x.new_zeros(-x.numel() % 256)]).reshape(-1, 256)
    s = x.new_zeros(256)
    for row in pad:
        s = s + row
    n = 256
    while n > 1:
        n //= 2
        s = s[:n] + s[n:2 * n]
    return s


def sum_all(x):
    return lanes(x.float()).reshape(1).to(x.dtype)
