"""What a token sees is said by the mask, and by the name of the file."""
import torch


def solve(Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor, output: torch.Tensor, M: int, d: int):
    score = Q @ K.T / d ** 0.5
    later = torch.triu(torch.ones(M, M, dtype=torch.bool, device=Q.device), diagonal=1)
    output.copy_(torch.softmax(score.masked_fill(later, float("-inf")), dim=-1) @ V)
