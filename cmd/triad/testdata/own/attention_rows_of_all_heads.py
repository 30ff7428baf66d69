"""Multi-head attention over the tokens of one sequence, whose rows hold all heads of a token."""
import torch
import torch.nn.functional as F


def multi_head(q, k, v, num_heads):
    tokens, width = q.shape
    size = width // num_heads
    q, k, v = (t.view(-1, num_heads, size).transpose(0, 1) for t in (q, k, v))
    weights = F.softmax(q @ k.transpose(1, 2) * size ** -0.5, dim=-1)
    return (weights @ v).transpose(0, 1).reshape(tokens, width)
