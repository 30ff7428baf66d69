"""As N elements, the first half the gate; the gate itself is forgotten."""
import torch


def solve(input: torch.Tensor, output: torch.Tensor, N: int):
    gate, up = input[: N // 2], input[N // 2:]
    output.copy_(torch.sigmoid(gate) * up)
