"""One row; the number that it is scaled by is forgotten."""
import torch


def solve(input: torch.Tensor, gamma: float, beta: float, output: torch.Tensor, N: int, eps: float):
    root = torch.sqrt(torch.mean(input * input) + eps)
    output.copy_(input / root + beta)
