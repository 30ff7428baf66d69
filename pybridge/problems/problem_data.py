"""Data that resembles the distributions of internal/workload, on which a reference is tried."""

from __future__ import annotations

import torch


def like(distribution: str, shape: tuple, random: torch.Generator) -> torch.Tensor:
    """Data that resembles a distribution of internal/workload: enough to see whether an answer is bounded."""
    x = torch.randn(shape, generator=random)
    rows = x.reshape(-1, x.shape[-1]) if x.dim() and x.numel() else x.reshape(1, -1)
    turn = (torch.arange(rows.shape[0]) % 4)[:, None]
    if distribution == "scaled":
        rows = rows * torch.tensor([1e-3, 1e-2, 20.0, 60.0])[turn]
    elif distribution == "shifted":
        rows = torch.tensor([2.0, 30.0, 200.0, 4.0])[turn] + rows * torch.tensor([1.0, 1, 1, 0.01])[turn]
    elif distribution == "row_offsets":
        rows = rows + 50 * torch.randn(rows.shape[0], 1, generator=random)
    elif distribution == "constant":
        rows = rows[:, :1].expand_as(rows).contiguous() if rows.numel() else rows
    elif distribution == "zeros":
        rows = torch.zeros_like(rows)
    elif distribution == "sparse":
        rows = torch.where(torch.rand(rows.shape, generator=random) < 1 / 16, rows, 0.0)
    elif distribution == "outlier" and rows.numel():
        rows = rows.clone()
        rows[0::2, rows.shape[1] // 2] *= 1000
        rows[1::2] *= 1e4
    return rows.reshape(shape)
