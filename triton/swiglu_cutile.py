"""swiglu in cuTile: y = gate * sigmoid(gate) * up
backward, with s = sigmoid(gate): grad_gate = grad_y * up * s * (1 + gate * (1 - s)), grad_up = grad_y * gate
* s

Layout, limits and contract are those of swiglu.py.
  cutile/block  a tile of elements per block, of one row where all tensors are contiguous
"""

import torch

from cutile import by_tma, ct, launch, tile
from implementation import Implementation, ceildiv

BLOCK = 2048  # elements of a tile
WIDTH = 1024  # columns of a tile of tensors with strides


@ct.kernel
def _swiglu_fwd(gate, up, y, ROWS: ct.Constant[int], COLS: ct.Constant[int],
                TMA: ct.Constant[bool]):
    across = ct.num_tiles(y, 1, (ROWS, COLS))
    at = (ct.bid(0) // across, ct.bid(0) % across)
    g = ct.load(gate, at, (ROWS, COLS), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    u = ct.load(up, at, (ROWS, COLS), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    ct.store(y, at, (g * (1.0 / (1.0 + ct.exp(-g))) * u).astype(y.dtype), allow_tma=TMA)


@ct.kernel
def _swiglu_bwd(gate, up, dy, dgate, dup, ROWS: ct.Constant[int], COLS: ct.Constant[int],
                TMA: ct.Constant[bool]):
    across = ct.num_tiles(dgate, 1, (ROWS, COLS))
    at = (ct.bid(0) // across, ct.bid(0) % across)
    g = ct.load(gate, at, (ROWS, COLS), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    u = ct.load(up, at, (ROWS, COLS), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    d = ct.load(dy, at, (ROWS, COLS), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    s = 1.0 / (1.0 + ct.exp(-g))
    ct.store(dgate, at, (d * u * (s * (1.0 + g * (1.0 - s)))).astype(dgate.dtype), allow_tma=TMA)
    ct.store(dup, at, (d * (g * s)).astype(dup.dtype), allow_tma=TMA)


def _launch(kernel, inputs: tuple, count: int):
    shape = inputs[0].shape
    outputs = [torch.empty(shape, dtype=inputs[0].dtype, device=inputs[0].device) for _ in range(count)]
    if outputs[0].numel():
        tensors = [*inputs, *outputs]
        if all(x.is_contiguous() for x in inputs):
            tensors = [x.view(1, -1) for x in tensors]
        rows, cols = tensors[0].shape
        height, width = tile(rows, min(cols, BLOCK if rows == 1 else WIDTH), BLOCK)
        launch(kernel, ceildiv(rows, height) * ceildiv(cols, width), *tensors, height, width,
               by_tma(tensors[-1]))
    return outputs


def forward(gate, up):
    """gate, up [rows, cols] -> y [rows, cols] of their dtype."""
    return _launch(_swiglu_fwd, (gate, up), 1)[0]


def backward(gate, up, grad_y):
    """gate, up, grad_y [rows, cols] -> grad_gate, grad_up [rows, cols]."""
    return tuple(_launch(_swiglu_bwd, (gate, up, grad_y), 2))


IMPLEMENTATIONS = [
    Implementation("cutile/block", forward, backward, outputs=("y",), gradients=("grad_gate", "grad_up"),
                   module="cuda.tile"),
]
