"""A right module beside an extension whose source is read by a `with` of the file, which is not here."""
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

with open("nowhere.cpp") as file:
    source = file.read()

extension = load_inline(name="extension", cpp_sources=source, functions=["forward"])


class LayerNorm(nn.Module):
    def __init__(self, size, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))
        self.eps = eps

    def forward(self, x):
        return nn.functional.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)
