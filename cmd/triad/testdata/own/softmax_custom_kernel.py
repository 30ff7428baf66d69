from task import input_t, output_t
import torch


def custom_kernel(data: input_t) -> output_t:
    x, output = data
    output[...] = torch.softmax(x.float(), dim=-1).to(x.dtype)
    return output
