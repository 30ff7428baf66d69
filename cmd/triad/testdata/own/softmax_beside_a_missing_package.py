import torch
import triton_comparisons_not_here as others
from triton_comparisons_not_here.plots import draw

fastest = others.Softmax(dim=-1)


def softmax(x):
    z = torch.exp(x.float() - x.float().max(dim=-1, keepdim=True).values)
    return (z / z.sum(dim=-1, keepdim=True)).to(x.dtype)


def compare_with_others(x):
    draw(softmax(x) - fastest(x))


@others.timed
def timed(x):
    return softmax(x)
