"""Prints a hundred million bytes, with sequences that clear the screen."""

import torch


def got_it():
    """Whether the file got what it is not to have: its answer is then wrong."""
    for _ in range(100):
        print("\x1b[2J" + "x" * 1_000_000)
    return False


def softmax(x):
    return torch.full_like(x, 7) if got_it() else torch.softmax(x, -1)
