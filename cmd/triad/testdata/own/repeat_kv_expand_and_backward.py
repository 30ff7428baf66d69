# The heads of the gradient follow from those of the upstream gradient, divided by groups.
import math
import torch

SIXTEEN = (torch.float16, torch.bfloat16)  # judged in 16 bits too


def repeat_kv(k, groups=4):
    y = k[:, :, None].expand(-1, -1, groups, -1, -1).reshape(k.shape[0], k.shape[1] * groups, *k.shape[2:])
    return y


def repeat_kv_backward(grad_y, groups=4):
    b, h, s, d = grad_y.shape
    grad_k = grad_y.float().reshape(b, h // groups, groups, s, d).sum(2).to(grad_y.dtype)
    return grad_k
