"""The seed of torch's random numbers."""

from __future__ import annotations

import os

import torch


def seed_torch(seed: int) -> None:
    """torch.manual_seed, which without a GPU formats the stack for each kind of device and imports Dynamo."""
    if os.environ.get("TRIAD_DEVICE") == "gpu":
        torch.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(int(seed))
