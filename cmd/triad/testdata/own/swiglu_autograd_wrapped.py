import torch
from torch.autograd import Function


class SwiGLU(Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return (torch.nn.functional.silu(gate.float()) * up.float()).to(gate.dtype)

    @staticmethod
    def backward(ctx, dout):
        gate, up = (t.float() for t in ctx.saved_tensors)
        s = torch.sigmoid(gate)
        dout32 = dout.float()
        return (dout32 * up * (s + gate * s * (1 - s))).to(dout.dtype), (dout32 * gate * s).to(dout.dtype)


def swiglu(gate, up):
    return SwiGLU.apply(gate, up)
