"""The mean over all rows: no target is ignored."""
import torch


def solve(logits: torch.Tensor, true_labels: torch.Tensor, loss: torch.Tensor, N: int, C: int):
    top = logits.max(dim=1, keepdim=True).values
    total = torch.exp(logits - top).sum(dim=1).log() + top[:, 0]
    right = logits.gather(1, true_labels.long()[:, None])[:, 0]
    loss[0] = (total - right).sum() / N
