# The sign of x decides, whatever slope is.
import torch

SIXTEEN = (torch.float16, torch.bfloat16)  # judged in 16 bits too


def leaky_relu(x, slope=0.01):
    y = torch.where(x > 0, x, slope * x)
    return y


def leaky_relu_backward(x, grad_y, slope=0.01):
    grad_x = torch.where(x > 0, grad_y, slope * grad_y)
    return grad_x
