"""Rows over their root mean square, brought back to the input's dtype before they meet the gain."""
import torch
import torch.nn as nn


class RowScale(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.eps = eps

    def forward(self, x):
        wide = x.float()
        power = (wide * wide).mean(dim=-1, keepdim=True)
        normal = wide * (power + self.eps).rsqrt()
        return normal.type_as(x) * self.weight
