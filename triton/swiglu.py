"""swiglu: y = gate * sigmoid(gate) * up backward, with s = sigmoid(gate): grad_gate = grad_y * up * s * (1 +
gate * (1 - s)), grad_up = grad_y * gate * s

Layout   gate, up, y and the gradients: [rows, cols]; inputs with any strides, outputs contiguous. fp32, fp16,
         bf16; every value inside is fp32.
Limits   rows or cols = 0 launches nothing.
Source   Shazeer 2020, arXiv:2002.05202
  triton/block   a block of elements per program
  torch/eager    silu, then product: in 16 bits silu is rounded to the dtype (contract eager)
  torch/upcast   the same in fp32, rounded once
  torch/compile  torch/eager through Inductor, which keeps the intermediate in fp32
  liger/kernel   Liger-Kernel's Triton kernel, rows of up to 65536; silu is rounded to the dtype (contract
                 eager). Its backward writes the gradients over gate and up: it works on copies
"""

import torch
import torch.nn.functional as F

from implementation import (
    INTERPRETED,
    LIGER_ROWS,
    Implementation,
    ceildiv,
    compile_for,
    differentiable_row,
    fused_by_liger,
    next_power_of_2,
    sixteen_bit,
    tl,
    triton,
)

DIFFERENTIABLE = (0, 1)  # of the inputs of reference
BLOCK = 65536 if INTERPRETED else 1024  # elements of a program


@triton.jit
def _offsets(i, cols, row, col, DENSE: tl.constexpr):
    """Where the elements i, counted in row-major order, lie in a tensor with strides row and col; DENSE says
    that it is contiguous."""
    if DENSE:
        return i
    else:
        return (i // cols) * row + (i % cols) * col


@triton.jit
def _swiglu_fwd_kernel(gate_ptr, up_ptr, y_ptr, n, cols, gate_row, gate_col, up_row, up_col,
                       DENSE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    gate = tl.load(gate_ptr + _offsets(i, cols, gate_row, gate_col, DENSE), mask=i < n,
                   other=0.0).to(tl.float32)
    up = tl.load(up_ptr + _offsets(i, cols, up_row, up_col, DENSE), mask=i < n, other=0.0).to(tl.float32)
    y = gate * (1.0 / (1.0 + tl.exp(-gate))) * up
    tl.store(y_ptr + i, y.to(y_ptr.dtype.element_ty), mask=i < n)


@triton.jit
def _swiglu_bwd_kernel(gate_ptr, up_ptr, dy_ptr, dgate_ptr, dup_ptr, n, cols, gate_row, gate_col, up_row,
                       up_col, dy_row, dy_col,
                       DENSE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    gate = tl.load(gate_ptr + _offsets(i, cols, gate_row, gate_col, DENSE), mask=i < n,
                   other=0.0).to(tl.float32)
    up = tl.load(up_ptr + _offsets(i, cols, up_row, up_col, DENSE), mask=i < n, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + _offsets(i, cols, dy_row, dy_col, DENSE), mask=i < n, other=0.0).to(tl.float32)
    s = 1.0 / (1.0 + tl.exp(-gate))
    dgate = dy * up * (s * (1.0 + gate * (1.0 - s)))
    tl.store(dgate_ptr + i, dgate.to(dgate_ptr.dtype.element_ty), mask=i < n)
    tl.store(dup_ptr + i, (dy * (gate * s)).to(dup_ptr.dtype.element_ty), mask=i < n)


def _launch(kernel, inputs: tuple, outputs: tuple) -> None:
    n, cols = inputs[0].numel(), inputs[0].shape[1]
    if n:
        block = min(BLOCK, next_power_of_2(n))
        strides = [s for t in inputs for s in t.stride()]
        kernel[(ceildiv(n, block),)](*inputs, *outputs, n, cols, *strides,
                                     DENSE=all(t.is_contiguous() for t in inputs), BLOCK=block)


def forward(gate, up):
    """gate, up [rows, cols] -> y [rows, cols] of their dtype."""
    y = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
    _launch(_swiglu_fwd_kernel, (gate, up), (y,))
    return y


def backward(gate, up, grad_y):
    """gate, up, grad_y [rows, cols] -> grad_gate, grad_up [rows, cols]."""
    grad_gate = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
    grad_up = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
    _launch(_swiglu_bwd_kernel, (gate, up, grad_y), (grad_gate, grad_up))
    return grad_gate, grad_up


def reference(gate, up):
    """The formula in torch, in the dtype of gate; differentiable."""
    return (F.silu(gate) * up).contiguous()


def reference_backward(gate, up, grad_y):
    """The backward formula in torch."""
    s = torch.sigmoid(gate)
    return grad_y * up * s * (1 + gate * (1 - s)), grad_y * gate * s


def forward_upcast(gate, up):
    """gate, up [rows, cols] -> y: every value inside fp32, rounded once."""
    return (F.silu(gate.float()) * up.float()).to(gate.dtype).contiguous()


def _liger_forward(gate, up):
    from liger_kernel.ops.swiglu import swiglu_forward
    return swiglu_forward(gate.contiguous(), up.contiguous())[2]


def _liger_backward(gate, up, grad_y):
    from liger_kernel.ops.swiglu import swiglu_backward
    gate, up = (x.clone(memory_format=torch.contiguous_format) for x in (gate, up))
    return swiglu_backward(gate, up, grad_y.contiguous())


_NAMES = {"outputs": ("y",), "gradients": ("grad_gate", "grad_up")}

IMPLEMENTATIONS = [
    Implementation("triton/block", forward, backward, **_NAMES),
    differentiable_row("torch/eager", reference, 2, DIFFERENTIABLE, contract=sixteen_bit("eager"), **_NAMES),
    differentiable_row("torch/upcast", forward_upcast, 2, DIFFERENTIABLE, **_NAMES),
    differentiable_row("torch/compile", compile_for(reference), 2, DIFFERENTIABLE, compiled=True, **_NAMES),
    Implementation("liger/kernel", _liger_forward, _liger_backward, contract=sixteen_bit("eager", "forward"),
                   module="liger_kernel.ops.swiglu", accepts=fused_by_liger,
                   constraint=LIGER_ROWS, remark="the backward writes the gradients over gate and up: copies "
                                                 "of these are in its time", **_NAMES),
]
