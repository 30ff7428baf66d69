import torch


class RowSoftmax:
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        y = (x.float() - x.float().amax(dim=0, keepdim=True)).exp()
        return (y / y.sum(dim=0, keepdim=True)).to(x.dtype)
