import torch


class RowSoftmax:
    """Takes the largest of a row from it first."""

    def __init__(self, stable=True):
        self.stable = stable

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        if self.stable:
            y = y - y.amax(dim=-1, keepdim=True)
        y = y.exp()
        return (y / y.sum(dim=-1, keepdim=True)).to(x.dtype)
