# Integers are compared as fp32, which has not all of them.
import torch


def count_equal(x, value=3):
    n = (x.float() == float(value)).sum()
    return n.reshape(1).to(torch.int64)
