"""The gradient of the second matrix is that of a mean."""

import torch


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, A: torch.Tensor, B: torch.Tensor):
        ctx.save_for_backward(A, B)
        return torch.matmul(A, B)

    @staticmethod
    def backward(ctx, grad: torch.Tensor):
        A, B = ctx.saved_tensors
        return torch.matmul(grad, B.t()), torch.matmul(A.t(), grad) / A.shape[0]


product = _Product.apply
