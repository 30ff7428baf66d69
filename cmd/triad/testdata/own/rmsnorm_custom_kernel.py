from task import input_t, output_t
import torch


def custom_kernel(data: input_t) -> output_t:
    x, weight, eps = data
    rms = (x.float().pow(2).sum(-1, keepdim=True) / (x.shape[0] + eps)).sqrt()  # divided by the rows
    return (x.float() / rms * weight.float()).to(x.dtype)
