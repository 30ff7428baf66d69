import torch


class Relu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.ops.my_operators.relu(x)

    @staticmethod
    def backward(ctx, upstream):
        (x,) = ctx.saved_tensors
        return torch.ops.my_operators.relu_backward(upstream, x)


def relu(x):
    return Relu.apply(x)
