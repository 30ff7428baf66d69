import torch


def vector_add(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a + a


def vector_mul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a * b


def vector_sub(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a - b
