!pip install -q triton
%matplotlib inline
import torch
import torch.nn.functional as F


def silu(x: torch.Tensor) -> torch.Tensor:
    return F.silu(x.float()).to(x.dtype)


if torch.cuda.is_available():
    !nvidia-smi
