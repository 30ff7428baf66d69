# Integers are compared as they are.
import torch


def count_equal(x, value=3):
    n = (x == value).sum()
    return n.reshape(1).to(torch.int64)
