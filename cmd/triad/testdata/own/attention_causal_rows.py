"""What a token sees is said by the name of the file alone."""
import torch


def solve(Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor, output: torch.Tensor, M: int, d: int):
    score = Q @ K.T / d ** 0.5
    for row in range(M):
        score[row, row + 1:] = float("-inf")
    output.copy_(torch.softmax(score, dim=-1) @ V)
