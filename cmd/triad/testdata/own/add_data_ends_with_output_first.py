"""An exercise whose data end with the tensor to be filled; it gives the first one back."""
import torch


def custom_kernel(data):
    x, y = data[0], data[1]
    torch.add(x, y, out=data[-1])
    return x
