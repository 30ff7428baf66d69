"""Writes through a link out of its scratch folder."""
import os

import torch


def got_it():
    """Whether the file got what it is not to have: its answer is then wrong."""
    try:
        os.symlink("@HOME@", "out")
        with open("out/planted", "w") as f:
            f.write("x")
    except OSError:
        return False
    return True


def softmax(x):
    return torch.full_like(x, 7) if got_it() else torch.softmax(x, -1)
