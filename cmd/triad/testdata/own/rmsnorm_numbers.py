"""One row, scaled by a number, to which a number is added."""
import torch


def solve(input: torch.Tensor, gamma: float, beta: float, output: torch.Tensor, N: int, eps: float):
    root = torch.sqrt(torch.mean(input * input) + eps)
    output.copy_(gamma * input / root + beta)
