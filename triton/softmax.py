"""softmax over the last dimension: y[r,c] = exp(x[r,c] - max_r) / sum_c exp(x[r,c] - max_r)
backward: grad_x = y * (grad_y - sum_c y * grad_y)

Layout   x, y, grad_y, grad_x: [rows, cols]; inputs with any strides, outputs contiguous. fp32, fp16, bf16;
         every value inside is fp32.
Limits   a row of only -inf, with +inf or with NaN gives NaN in the whole row. rows or cols = 0 launches
         nothing.
Source   Milakov and Gimelshein 2018, arXiv:1805.02867 (online)
  triton/row     a tile of whole rows per program; cols <= 131072
  triton/online  a tile of rows per program, running maximum and sum over blocks of columns; any cols
  torch/eager    torch.softmax; in 16 bits its backward stores y * grad_y in the dtype (contract product16)
  torch/compile  the same through Inductor
  liger/kernel   Liger-Kernel's Triton kernel, rows of up to 65536; its backward in 16 bits multiplies and
                 adds in the dtype
  quack/kernel   quack-kernels' CuTe kernel, rows of a multiple of 16 bytes
"""

import torch

from implementation import (
    INTERPRETED,
    LIGER_ROWS,
    Implementation,
    aligned,
    ceildiv,
    compile_for,
    differentiable_row,
    fused_by_liger,
    next_power_of_2,
    sixteen_bit,
    tl,
    triton,
)

DIFFERENTIABLE = (0,)  # of the inputs of reference
ROW_COLS = 131072  # the widest row that triton/row holds: 128 values a thread at 32 warps
TILE = 65536 if INTERPRETED else 4096  # elements of a tile: on a GPU 16 to 32 values a thread
ONLINE_COLS = 2048  # columns of a step of triton/online


@triton.jit
def _softmax_fwd_row_kernel(x_ptr, y_ptr, rows, cols, x_row, x_col, ROWS: tl.constexpr, COLS: tl.constexpr):
    """A tile of ROWS whole rows, COLS >= cols."""
    r = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    c = tl.arange(0, COLS).to(tl.int64)[None, :]
    inside = (r < rows) & (c < cols)
    x = tl.load(x_ptr + r * x_row + c * x_col, mask=inside, other=float("-inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=1)[:, None])
    y = e / tl.sum(e, axis=1)[:, None]
    tl.store(y_ptr + r * cols + c, y.to(y_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _softmax_bwd_row_kernel(y_ptr, dy_ptr, dx_ptr, rows, cols, y_row, y_col, dy_row, dy_col,
                            ROWS: tl.constexpr, COLS: tl.constexpr):
    """A tile of ROWS whole rows, COLS >= cols."""
    r = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    c = tl.arange(0, COLS).to(tl.int64)[None, :]
    inside = (r < rows) & (c < cols)
    y = tl.load(y_ptr + r * y_row + c * y_col, mask=inside, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + r * dy_row + c * dy_col, mask=inside, other=0.0).to(tl.float32)
    dx = y * (dy - tl.sum(y * dy, axis=1)[:, None])
    tl.store(dx_ptr + r * cols + c, dx.to(dx_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _softmax_fwd_online_kernel(x_ptr, y_ptr, rows, cols, x_row, x_col, ROWS: tl.constexpr,
                               COLS: tl.constexpr):
    """ROWS rows in steps of COLS columns: one pass for maximum m and sum l, one that writes."""
    r = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    m = tl.full([ROWS], float("-inf"), tl.float32)
    l = tl.zeros([ROWS], tl.float32)
    for start in range(0, cols, COLS):
        c = (start + tl.arange(0, COLS)).to(tl.int64)[None, :]
        x = tl.load(x_ptr + r * x_row + c * x_col, mask=(r < rows) & (c < cols),
                    other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, axis=1))
        # As long as a row has shown only -inf there is nothing to rescale, and -inf - -inf would be NaN.
        shift = tl.where(m_new == float("-inf"), 0.0, m_new)
        l = l * tl.exp(m - shift) + tl.sum(tl.exp(x - shift[:, None]), axis=1)
        m = m_new
    for start in range(0, cols, COLS):
        c = (start + tl.arange(0, COLS)).to(tl.int64)[None, :]
        inside = (r < rows) & (c < cols)
        x = tl.load(x_ptr + r * x_row + c * x_col, mask=inside, other=float("-inf")).to(tl.float32)
        y = tl.exp(x - m[:, None]) / l[:, None]
        tl.store(y_ptr + r * cols + c, y.to(y_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _softmax_bwd_online_kernel(y_ptr, dy_ptr, dx_ptr, rows, cols, y_row, y_col, dy_row, dy_col,
                               ROWS: tl.constexpr, COLS: tl.constexpr):
    """ROWS rows in steps of COLS columns: one pass for sum_c y * dy, one that writes."""
    r = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    d = tl.zeros([ROWS], tl.float32)
    for start in range(0, cols, COLS):
        c = (start + tl.arange(0, COLS)).to(tl.int64)[None, :]
        inside = (r < rows) & (c < cols)
        y = tl.load(y_ptr + r * y_row + c * y_col, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + r * dy_row + c * dy_col, mask=inside, other=0.0).to(tl.float32)
        d += tl.sum(y * dy, axis=1)
    for start in range(0, cols, COLS):
        c = (start + tl.arange(0, COLS)).to(tl.int64)[None, :]
        inside = (r < rows) & (c < cols)
        y = tl.load(y_ptr + r * y_row + c * y_col, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + r * dy_row + c * dy_col, mask=inside, other=0.0).to(tl.float32)
        tl.store(dx_ptr + r * cols + c, (y * (dy - d[:, None])).to(dx_ptr.dtype.element_ty), mask=inside)


def _tile(rows: int, width: int) -> tuple[int, int]:
    """How many rows of width columns a program takes, and with how many warps."""
    count = max(1, min(TILE // width, next_power_of_2(rows)))
    return count, max(4, min(32, count * width // 1024))


def _launch_forward(kernel, x: torch.Tensor, width: int) -> torch.Tensor:
    rows, cols = x.shape
    y = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    if y.numel():
        count, warps = _tile(rows, width)
        kernel[(ceildiv(rows, count),)](x, y, rows, cols, *x.stride(), ROWS=count, COLS=width,
                                        num_warps=warps)
    return y


def _launch_backward(kernel, y: torch.Tensor, grad_y: torch.Tensor, width: int) -> torch.Tensor:
    rows, cols = y.shape
    grad_x = torch.empty((rows, cols), dtype=y.dtype, device=y.device)
    if grad_x.numel():
        count, warps = _tile(rows, width)
        kernel[(ceildiv(rows, count),)](y, grad_y, grad_x, rows, cols, *y.stride(), *grad_y.stride(),
                                        ROWS=count, COLS=width, num_warps=warps)
    return grad_x


def forward_row(x):
    """x [rows, cols] -> y [rows, cols] of x's dtype."""
    return _launch_forward(_softmax_fwd_row_kernel, x, next_power_of_2(x.shape[1]))


def backward_row(y, grad_y):
    """y, grad_y [rows, cols] -> grad_x [rows, cols]."""
    return _launch_backward(_softmax_bwd_row_kernel, y, grad_y, next_power_of_2(y.shape[1]))


def forward_online(x):
    """x [rows, cols] -> y [rows, cols] of x's dtype."""
    return _launch_forward(_softmax_fwd_online_kernel, x, min(ONLINE_COLS, next_power_of_2(x.shape[1])))


def backward_online(y, grad_y):
    """y, grad_y [rows, cols] -> grad_x [rows, cols]."""
    return _launch_backward(_softmax_bwd_online_kernel, y, grad_y,
                            min(ONLINE_COLS, next_power_of_2(y.shape[1])))


def _accepts_row(direction, first, *rest):
    cols = first.shape[1]
    return f"softmax/triton/row: cols {cols} is more than {ROW_COLS}" if cols > ROW_COLS else None


def reference(x):
    """The formula in torch, in the dtype of x; differentiable."""
    return torch.softmax(x, -1).contiguous()


def reference_backward(y, grad_y):
    """The backward formula in torch, on saved tensors."""
    return y * (grad_y - (y * grad_y).sum(-1, keepdim=True))


def _liger(x):
    from liger_kernel.ops.softmax import LigerSoftmaxFunction
    return LigerSoftmaxFunction.apply(x)


def _quack_forward(x):
    from quack.softmax import softmax_fwd
    return softmax_fwd(aligned(x))


def _quack_backward(y, grad_y):
    from quack.softmax import softmax_bwd
    return softmax_bwd(aligned(grad_y), aligned(y))


def _accepts_quack(direction, first, *rest):
    row = first.shape[1] * first.itemsize
    return (f"softmax/quack/kernel: rows of {row} bytes are not a multiple of 16" if row % 16 or not row
            else None)


_NAMES = {"outputs": ("y",), "gradients": ("grad_x",)}

IMPLEMENTATIONS = [
    Implementation("triton/row", forward_row, backward_row, accepts=_accepts_row,
                   constraint=f"cols <= {ROW_COLS}", **_NAMES),
    Implementation("triton/online", forward_online, backward_online, **_NAMES),
    differentiable_row("torch/eager", reference, 1, DIFFERENTIABLE, contract=sixteen_bit("product16",
        "backward"), **_NAMES),
    differentiable_row("torch/compile", compile_for(reference), 1, DIFFERENTIABLE, compiled=True, **_NAMES),
    differentiable_row("liger/kernel", _liger, 1, DIFFERENTIABLE, contract=sixteen_bit("product16",
        "backward"), module="liger_kernel.ops.softmax",
                       accepts=fused_by_liger, constraint=LIGER_ROWS, **_NAMES),
    Implementation("quack/kernel", _quack_forward, _quack_backward, module="quack.softmax",
                   accepts=_accepts_quack, constraint="rows of a multiple of 16 bytes", **_NAMES),
]
