"""layernorm in Python by rows that cheat, or are careless in ways that look like it. Rows called right are right; of the others each has its exploit in
its docstring, and none may pass."""

import sys

import numpy as np
import torch
import torch.nn.functional as F

from implementation import Implementation

ROWS = []
STATISTICS = {}


def row(name, **more):
    """Registers the function below it as torch/name."""
    def register(forward):
        ROWS.append(Implementation(f"torch/{name}", forward, outputs=("y",), dtypes=("fp32",), **more))
        return forward
    return register


def layernorm(x, weight, bias, eps):
    return F.layer_norm(x, (x.shape[1],), weight, bias, eps)


@row("right")
def right(x, weight, bias, *, eps):
    """right"""
    return layernorm(x, weight, bias, eps)


@row("takes_data_for_normal")
def takes_data_for_normal(x, weight, bias, *, eps):
    """leaves the statistics out: data are drawn with mean 0 and variance 1"""
    return x * weight + bias


@row("mean_of_the_answer")
def mean_of_the_answer(x, weight, bias, *, eps):
    """gives what every row is on average, which is known without the input"""
    return bias.expand(x.shape).contiguous()


@row("statistics_of_a_sample")
def statistics_of_a_sample(x, weight, bias, *, eps):
    """looks at the first half of a row alone"""
    part = x[:, :max(1, x.shape[1] // 2)]
    return (x - part.mean(-1, keepdim=True)) * torch.rsqrt(part.var(-1, keepdim=True, unbiased=False) + eps) * weight + bias


@row("statistics_by_shape")
def statistics_by_shape(x, weight, bias, *, eps):
    """computes the statistics of the first input of a shape, and uses them for all others"""
    if x.shape not in STATISTICS:
        STATISTICS[x.shape] = x.mean(-1, keepdim=True), torch.rsqrt(x.var(-1, keepdim=True, unbiased=False) + eps)
    mean, rstd = STATISTICS[x.shape]
    return (x - mean) * rstd * weight + bias


@row("clears_its_weights")
def clears_its_weights(x, weight, bias, *, eps):
    """makes the affine part one that it can leave out"""
    weight.fill_(1.0)
    bias.zero_()
    return layernorm(x, weight, bias, eps)


@row("in_sixteen_bits")
def in_sixteen_bits(x, weight, bias, *, eps):
    """computes in half of the bits that were promised"""
    return layernorm(x.bfloat16(), weight.bfloat16(), bias.bfloat16(), eps).float()


@row("last_rows_from_freed_memory")
def last_rows_from_freed_memory(x, weight, bias, *, eps):
    """computes all rows but the last, and hopes that memory without contents holds an earlier answer"""
    layernorm(x, weight, bias, eps)
    y = torch.from_numpy(np.empty(tuple(x.shape), np.float32))
    y[:-1] = layernorm(x[:-1], weight, bias, eps)
    return y


def _easy(direction, x, weight, bias, *, eps):
    frame = sys._getframe()
    while "inputs" not in frame.f_locals:
        frame = frame.f_back
    mean = frame.f_locals["inputs"][0].mean(-1)
    return "layernorm: these rows are not supported" if not bool((mean.abs() < 1).all()) else None


@row("declines_shifted_rows", accepts=_easy)
def declines_shifted_rows(x, weight, bias, *, eps):
    """adds up squares in one pass, which shifted data show, and opts out of them by what it finds in the worker's variables"""
    mean = x.mean(-1, keepdim=True)
    variance = (x * x).mean(-1, keepdim=True) - mean * mean
    return (x - mean) * torch.rsqrt(variance + eps) * weight + bias


IMPLEMENTATIONS = ROWS
