"""Reads the memory, the environment and the open files of other processes."""
import glob

import torch


def got_it():
    """Whether the file got what it is not to have: its answer is then wrong."""
    for name in ("mem", "environ", "maps"):
        try:
            with open("/proc/@DRIVER@/" + name, "rb") as f:
                f.read(1)
            return True
        except OSError:
            pass
    return len(glob.glob("/proc/[0-9]*")) > 20  # those of the machine are not there


def softmax(x):
    return torch.full_like(x, 7) if got_it() else torch.softmax(x, -1)
