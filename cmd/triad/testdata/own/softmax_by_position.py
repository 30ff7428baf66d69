import functools

import torch


def on_one_device(function):
    @functools.wraps(function)
    def inner(*tensors):
        if any(t.device != tensors[0].device for t in tensors):
            raise ValueError("tensors of two devices")
        return function(*tensors)
    return inner


@on_one_device
def softmax(x):
    return torch.softmax(x, dim=-1)
