"""add: z = x + y
backward: grad_x = grad_z, grad_y = grad_z

Layout   x, y, z and the gradients: [rows, cols]; inputs with any strides, outputs contiguous. fp32, fp16,
         bf16; added in fp32.
Limits   rows or cols = 0 launches nothing.
Source   NVIDIA, CUDA C++ Programming Guide: vector addition
  triton/block   a block of elements per program
  torch/eager    x + y
  torch/compile  the same through Inductor
"""

import torch

from implementation import INTERPRETED, Implementation, ceildiv, next_power_of_2, tl, torch_rows, triton

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
def _add_fwd_kernel(x_ptr, y_ptr, z_ptr, n, cols, x_row, x_col, y_row, y_col, DENSE: tl.constexpr,
                    BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + _offsets(i, cols, x_row, x_col, DENSE), mask=i < n, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + _offsets(i, cols, y_row, y_col, DENSE), mask=i < n, other=0.0).to(tl.float32)
    tl.store(z_ptr + i, (x + y).to(z_ptr.dtype.element_ty), mask=i < n)


@triton.jit
def _add_bwd_kernel(dz_ptr, dx_ptr, dy_ptr, n, cols, dz_row, dz_col, DENSE: tl.constexpr,
                    BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    dz = tl.load(dz_ptr + _offsets(i, cols, dz_row, dz_col, DENSE), mask=i < n, other=0.0)
    tl.store(dx_ptr + i, dz, mask=i < n)
    tl.store(dy_ptr + i, dz, mask=i < n)


def _launch(kernel, inputs: tuple, outputs: tuple) -> None:
    n, cols = inputs[0].numel(), inputs[0].shape[1]
    if n:
        block = min(BLOCK, next_power_of_2(n))
        strides = [s for t in inputs for s in t.stride()]
        kernel[(ceildiv(n, block),)](*inputs, *outputs, n, cols, *strides,
                                     DENSE=all(t.is_contiguous() for t in inputs), BLOCK=block)


def forward(x, y):
    """x, y [rows, cols] -> z [rows, cols] of their dtype."""
    z = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    _launch(_add_fwd_kernel, (x, y), (z,))
    return z


def backward(grad_z):
    """grad_z [rows, cols] -> grad_x, grad_y [rows, cols]."""
    grad_x, grad_y = (torch.empty(grad_z.shape, dtype=grad_z.dtype, device=grad_z.device) for _ in range(2))
    _launch(_add_bwd_kernel, (grad_z,), (grad_x, grad_y))
    return grad_x, grad_y


def reference(x, y):
    """The formula in torch, in the dtype of x; differentiable."""
    return (x + y).contiguous()


def reference_backward(grad_z):
    """The backward formula in torch."""
    return tuple(grad_z.clone(memory_format=torch.contiguous_format) for _ in range(2))


_NAMES = {"outputs": ("z",), "gradients": ("grad_x", "grad_y")}

IMPLEMENTATIONS = [
    Implementation("triton/block", forward, backward, **_NAMES),
    *torch_rows(reference, 2, DIFFERENTIABLE, **_NAMES),
]
