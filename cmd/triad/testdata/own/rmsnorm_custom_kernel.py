from task import input_t, output_t
import torch


def custom_kernel(data: input_t) -> output_t:
    x, weight, eps = data
    rms = x.float().pow(2).mean(-1, keepdim=True).sqrt() + eps  # eps is added behind the root
    return (x.float() / rms * weight.float()).to(x.dtype)
