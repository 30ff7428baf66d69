# x is read by its strides.
import torch

SIXTEEN = (torch.float16, torch.bfloat16)  # judged in 16 bits too


def relu(x):
    y = torch.clamp(x, min=0)
    return y


def relu_backward(x, grad_y):
    grad_x = torch.where(x <= 0, torch.zeros_like(grad_y), grad_y)
    return grad_x
