"""Halves are rounded away from zero, where the catalogue rounds them to even."""
import torch


def solve(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, M: int, N: int, K: int, scale_A: float,
          scale_B: float, scale_C: float, zero_point_A: int, zero_point_B: int, zero_point_C: int):
    total = (a.int() - zero_point_A).double() @ (b.int() - zero_point_B).double()
    scaled = total * (scale_A * scale_B / scale_C)
    whole = torch.where(scaled >= 0, torch.floor(scaled + 0.5), torch.ceil(scaled - 0.5))
    c.copy_((whole + zero_point_C).clamp(-128, 127).to(torch.int8))
