"""Attaches to the process that judges it."""
import ctypes

import torch


def got_it():
    """Whether the file got what it is not to have: its answer is then wrong."""
    attach = 16
    return ctypes.CDLL(None).ptrace(attach, @DRIVER@, None, None) == 0


def softmax(x):
    return torch.full_like(x, 7) if got_it() else torch.softmax(x, -1)
