"""Writes problems in the format of KernelBench, of eight kinds: python thousand.py FOLDER [COUNT]."""
import sys
from pathlib import Path

BODIES = [
    ("torch.relu(x) * {c}", "torch.randn(rows, cols)", ""),
    ("torch.softmax(x * {c}, -1)", "torch.randn(rows, cols)", ""),
    ("x @ self.w.weight.T + {c}", "torch.randn(rows, cols)", "self.w = nn.Linear(cols, {k})"),
    ("self.n(x) * {c}", "torch.randn(rows, cols)", "self.n = nn.LayerNorm(cols)"),
    ("x.cumsum(-1) * {c}", "torch.randn(rows, cols)", ""),
    ("(x * torch.sigmoid({c} * x)).sum(-1)", "torch.randn(rows, cols)", ""),
    ("torch.max_pool2d(self.c(x), 2) * {c}", "torch.randn(4, 3, rows, cols)",
     "self.c = nn.Conv2d(3, {k}, 3)"),
    ("nn.functional.gelu(x + {c}).mean(-1, keepdim=True)", "torch.randn(rows, cols)", ""),
]
folder, count = Path(sys.argv[1]), int((sys.argv[2:] or [1000])[0])
folder.mkdir(parents=True, exist_ok=True)
for i in range(count):
    body, x, init = BODIES[i % len(BODIES)]
    numbers = {"c": 0.5 + i / 100, "k": 4 + i % 13}
    (folder / f"{i + 1}_Problem.py").write_text(f"""import torch
import torch.nn as nn

rows = {64 + i % 7}
cols = {96 + i % 11}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init.format(**numbers) or 'pass'}

    def forward(self, x):
        return {body.format(**numbers)}


def get_inputs():
    return [{x}]


def get_init_inputs():
    return []
""")
