"""conv1d: y[b,o,l] = sum_c sum_t w[o,c,t] x[b,c,l*stride+t-padding] + bias[o]; nothing is added where x ends
backward: grad_x[b,c,i] = sum of w[o,c,t] grad_y[b,o,l] where l*stride+t-padding = i,
          grad_w[o,c,t] = sum_b,l grad_y[b,o,l] x[b,c,l*stride+t-padding],
          grad_bias[o] = sum_b,l grad_y[b,o,l]

Layout   x [batch, channels_in, length], w [channels_out, channels_in, taps], bias [channels_out] or [0] for
         none, y [batch, channels_out, places]; fp32 (products in IEEE fp32), fp16, bf16. Inputs with
         any strides, outputs contiguous. Sums in fp32.
Limits   batch may be 0.
Source   Dumoulin and Visin 2016, arXiv:1603.07285
  triton/tiled   a tile of the output per program, as a product of matrices: elements of x are gathered by
                 channel and tap, and no matrix of them is written
  torch/eager    torch.conv1d, in fp32 without tf32

torch.compile has no row: it calls the same convolution, and cannot trace that tf32 is off.
"""

import torch

from implementation import INTERPRETED, Implementation, ceildiv, tile_side, tl, triton

DIFFERENTIABLE = (0, 1, 2)  # of the inputs of reference
TILE_MAX = 64
TILE_K = 256 if INTERPRETED else 32


@triton.jit
def _conv1d_kernel(x_ptr, w_ptr, bias_ptr, y_ptr, channels_in, length, channels_out, taps, places, stride,
                   padding, x_b, x_c, x_l, w_o, w_c, w_t, bias_o, BIASED: tl.constexpr, M: tl.constexpr,
                   N: tl.constexpr, K: tl.constexpr):
    """M output channels at N places of one row: the product over channels and taps."""
    tiles_n, tiles_m = tl.cdiv(places, N), tl.cdiv(channels_out, M)
    rn = tl.program_id(0) % tiles_n * N + tl.arange(0, N)
    ro = tl.program_id(0) // tiles_n % tiles_m * M + tl.arange(0, M)
    b = (tl.program_id(0) // tiles_n // tiles_m).to(tl.int64)
    acc = tl.zeros([M, N], tl.float32)
    for block in range(0, tl.cdiv(channels_in * taps, K)):
        rk = block * K + tl.arange(0, K)
        c, t, some = (rk // taps).to(tl.int64), rk % taps, rk < channels_in * taps
        at = rn[None, :] * stride + t[:, None] - padding
        w = tl.load(w_ptr + ro[:, None].to(tl.int64) * w_o + c[None, :] * w_c + t[None, :] * w_t,
                    mask=(ro < channels_out)[:, None] & some[None, :], other=0.0)
        x = tl.load(x_ptr + b * x_b + c[:, None] * x_c + at.to(tl.int64) * x_l,
                    mask=some[:, None] & (at >= 0) & (at < length), other=0.0)
        acc = tl.dot(w, x, acc, input_precision="ieee", out_dtype=tl.float32)
    if BIASED:
        acc += tl.load(bias_ptr + ro * bias_o, mask=ro < channels_out, other=0.0).to(tl.float32)[:, None]
    tl.store(y_ptr + (b * channels_out + ro[:, None]) * places + rn[None, :], acc.to(y_ptr.dtype.element_ty),
             mask=(ro < channels_out)[:, None] & (rn < places)[None, :])


@triton.jit
def _conv1d_x_kernel(w_ptr, dy_ptr, dx_ptr, channels_in, length, channels_out, taps, places, stride, padding,
                     w_o, w_c, w_t, y_b, y_o, y_l, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """The gradient of M channels of x at N elements of one row: the product over output channels and taps."""
    tiles_n, tiles_m = tl.cdiv(length, N), tl.cdiv(channels_in, M)
    rn = tl.program_id(0) % tiles_n * N + tl.arange(0, N)
    rc = tl.program_id(0) // tiles_n % tiles_m * M + tl.arange(0, M)
    b = (tl.program_id(0) // tiles_n // tiles_m).to(tl.int64)
    acc = tl.zeros([M, N], tl.float32)
    for block in range(0, tl.cdiv(channels_out * taps, K)):
        rk = block * K + tl.arange(0, K)
        o, t, some = (rk // taps).to(tl.int64), rk % taps, rk < channels_out * taps
        steps = rn[None, :] + padding - t[:, None]  # the place, times the stride
        w = tl.load(w_ptr + o[None, :] * w_o + rc[:, None].to(tl.int64) * w_c + t[None, :] * w_t,
                    mask=(rc < channels_in)[:, None] & some[None, :], other=0.0)
        dy = tl.load(dy_ptr + b * y_b + o[:, None] * y_o + (steps // stride).to(tl.int64) * y_l,
                     mask=some[:, None] & (steps >= 0) & (steps % stride == 0) & (steps // stride < places),
                     other=0.0)
        acc = tl.dot(w, dy, acc, input_precision="ieee", out_dtype=tl.float32)
    tl.store(dx_ptr + (b * channels_in + rc[:, None]) * length + rn[None, :], acc.to(dx_ptr.dtype.element_ty),
             mask=(rc < channels_in)[:, None] & (rn < length)[None, :])


@triton.jit
def _conv1d_w_kernel(x_ptr, dy_ptr, dw_ptr, db_ptr, batch, channels_in, length, channels_out, taps, places,
                     stride, padding, x_b, x_c, x_l, y_b, y_o, y_l, BIASED: tl.constexpr, M: tl.constexpr,
                     N: tl.constexpr, K: tl.constexpr):
    """The gradient of M output channels at N weights: the product over the places of the batch. The programs
    of the first weights add up the gradient of the bias too."""
    tiles_n = tl.cdiv(channels_in * taps, N)
    rn = tl.program_id(0) % tiles_n * N + tl.arange(0, N)
    ro = tl.program_id(0) // tiles_n * M + tl.arange(0, M)
    c, t, acc = (rn // taps).to(tl.int64), rn % taps, tl.zeros([M, N], tl.float32)
    of_bias = tl.zeros([M], tl.float32)
    for block in range(0, tl.cdiv(batch * places, K)):
        rk = block * K + tl.arange(0, K)
        b, row, some = (rk // places).to(tl.int64), rk % places, rk < batch * places
        at = row[:, None] * stride + t[None, :] - padding
        dy = tl.load(dy_ptr + b[None, :] * y_b + ro[:, None].to(tl.int64) * y_o + row[None, :] * y_l,
                     mask=(ro < channels_out)[:, None] & some[None, :], other=0.0)
        x = tl.load(x_ptr + b[:, None] * x_b + c[None, :] * x_c + at.to(tl.int64) * x_l,
                    mask=some[:, None] & (rn < channels_in * taps)[None, :] & (at >= 0) & (at < length),
                    other=0.0)
        acc = tl.dot(dy, x, acc, input_precision="ieee", out_dtype=tl.float32)
        if BIASED:
            of_bias += tl.sum(dy.to(tl.float32), 1)
    tl.store(dw_ptr + ro[:, None].to(tl.int64) * (channels_in * taps) + rn[None, :],
             acc.to(dw_ptr.dtype.element_ty),
             mask=(ro < channels_out)[:, None] & (rn < channels_in * taps)[None, :])
    if BIASED:
        tl.store(db_ptr + ro, of_bias.to(db_ptr.dtype.element_ty),
                 mask=(ro < channels_out) & (tl.program_id(0) % tiles_n == 0))


def _tiles(rows: int, cols: int) -> tuple[dict[str, int], int]:
    """The sides of a tile of an output of so many rows and columns, and how many tiles it has."""
    m, n = tile_side(rows, TILE_MAX), tile_side(cols, TILE_MAX)
    return {"M": m, "N": n, "K": TILE_K}, ceildiv(rows, m) * ceildiv(cols, n)


def forward(x, w, bias, *, with_bias, stride, padding):
    """x [batch, channels_in, length], w, bias -> y [batch, channels_out, places] of x's dtype."""
    (batch, channels_in, length), (channels_out, _, taps) = x.shape, w.shape
    places = (length + 2 * padding - taps) // stride + 1
    y = torch.empty((batch, channels_out, places), dtype=x.dtype, device=x.device)
    sides, tiles = _tiles(channels_out, places)
    if batch:
        _conv1d_kernel[(batch * tiles,)](x, w, bias if with_bias else w, y, channels_in, length, channels_out,
                                         taps, places, stride, padding, *x.stride(), *w.stride(),
                                         bias.stride(0), BIASED=with_bias, **sides)
    return y


def backward(x, w, grad_y, *, with_bias, stride, padding):
    """x, w, grad_y [batch, channels_out, places] -> grad_x, grad_w, grad_bias."""
    (batch, channels_in, length), (channels_out, _, taps), places = x.shape, w.shape, grad_y.shape[2]
    grad_x, grad_w = (torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in (x, w))
    grad_bias = torch.empty(channels_out * with_bias, dtype=x.dtype, device=x.device)
    sides, tiles = _tiles(channels_in, length)
    if batch:
        _conv1d_x_kernel[(batch * tiles,)](w, grad_y, grad_x, channels_in, length, channels_out, taps, places,
                                           stride, padding, *w.stride(), *grad_y.stride(), **sides)
    sides, tiles = _tiles(channels_out, channels_in * taps)
    _conv1d_w_kernel[(tiles,)](x, grad_y, grad_w, grad_bias if with_bias else grad_w, batch, channels_in,
                               length, channels_out, taps, places, stride, padding, *x.stride(),
                               *grad_y.stride(), BIASED=with_bias, **sides)
    return grad_x, grad_w, grad_bias


# ---- torch


def reference(x, w, bias, *, with_bias, stride, padding):
    """The formula in torch, in the dtype of x; differentiable."""
    return torch.conv1d(x, w, bias if with_bias else None, stride=stride, padding=padding)


def reference_backward(x, w, grad_y, *, with_bias, stride, padding):
    """The backward formula in torch."""
    (length, taps), places = (x.shape[2], w.shape[2]), grad_y.shape[2]
    left = length + 2 * padding - taps - (places - 1) * stride  # elements behind the last place
    grad_x = torch.conv_transpose1d(grad_y, w, stride=stride, padding=padding, output_padding=left)
    met = torch.nn.functional.pad(x, (padding, padding)).unfold(2, taps, stride)
    return grad_x, torch.einsum("bol,bclt->oct", grad_y, met), grad_y.sum((0, 2))[:with_bias * len(w)]


def _exactly():
    """cuDNN without tf32, and with sums in one order."""
    return torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False)


def eager(x, w, bias, *, with_bias, stride, padding):
    """torch.conv1d."""
    with _exactly():
        return reference(x, w, bias, with_bias=with_bias, stride=stride, padding=padding).contiguous()


def eager_backward(x, w, grad_y, *, with_bias, stride, padding):
    """What torch's autograd calls; on a CPU 16 bits go through fp32: torch's own code adds up what taps and
    samples give in 16 bits there (in bf16 only where oneDNN finds no AVX-512)."""
    dtype = torch.float32 if x.device.type == "cpu" else x.dtype
    with _exactly():
        grads = torch.ops.aten.convolution_backward(
            grad_y.to(dtype), x.to(dtype), w.to(dtype), [len(w)] if with_bias else None, [stride], [padding],
            [1], False, [0], 1, [True, True, with_bias])
    grads = grads if with_bias else (*grads[:2], x.new_empty(0))
    return tuple(g.to(x.dtype).contiguous() for g in grads)


_NAMES = {"outputs": ("y",), "gradients": ("grad_x", "grad_w", "grad_bias")}

IMPLEMENTATIONS = [
    Implementation("triton/tiled", forward, backward, **_NAMES),
    Implementation("torch/eager", eager, eager_backward, **_NAMES),
]
