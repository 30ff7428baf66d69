import torch
import triton

from kernels.softmax_rows_wrong import normalise


def softmax(x):
    y = torch.empty_like(x)
    normalise[(x.shape[0],)](y, x, y.stride(0), x.stride(0), x.shape[1], triton.next_power_of_2(x.shape[1]))
    return y
