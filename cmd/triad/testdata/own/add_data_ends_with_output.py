"""An exercise whose data end with the tensor to be filled."""
import torch


def custom_kernel(data):
    *inputs, output = data
    torch.add(inputs[0], inputs[1], out=output)
    return output
