"""linear_cross_entropy: z = hidden weight^T, lse_i = log sum_c exp(z[i,c]), loss_i = lse_i - z[i,target_i]
backward: dz[i,c] = w_i * (exp(z[i,c] - lse_i) - [c is target_i]), grad_hidden = dz weight,
          grad_weight = dz^T hidden

Layout   hidden [tokens, dim], weight [classes, dim], with any strides; target [tokens] int64; lse [tokens],
         loss, grad_loss: [tokens], or [1] for a sum or a mean, fp32. fp32 (products in IEEE fp32), fp16 and
         bf16, where logits and their gradients are stored in the dtype; added in fp32.
Limits   a token whose target is ignore_index has loss and gradient 0 and adds nothing to grad_weight,
         whatever number it holds; so has a mean over no token.
Source   Hsu et al. 2024, arXiv:2410.10989 (chunks)
  triton/chunked  never more logits than those of CHUNK tokens; one pass over the chunks either way
  torch/chunked   the same in torch's products
  torch/eager     torch.nn.functional.cross_entropy of all logits, of the tokens that count
  torch/compile   the formula through Inductor, the logits of ignored tokens among the others
  liger/kernel    Liger-Kernel's chunks, whose forward computes the gradients; those of weight added in fp32
  cce/kernel      cut-cross-entropy: logits in tiles that never lie in memory, every gradient computed
  cce/filtered    the same as its users call it: tiles of small gradients are left out
"""

import torch

from implementation import (
    INTERPRETED,
    Implementation,
    rounded,
    short_rows,
    sixteen_bit,
    tile_side,
    tl,
    triton,
)
from library_linear_losses import rows_of_others

DIFFERENTIABLE = (0, 1)  # of the inputs of reference
CHUNK = 1024  # tokens whose logits lie in memory at a time
LOGITS = 8192 if INTERPRETED else 2048  # of a step of a program, along a row or of several short ones
TILE_MAX = 128  # of rows and columns
TILE_K = 128 if INTERPRETED else 32


@triton.jit
def _product_kernel(a_ptr, b_ptr, y_ptr, sum_ptr, target_ptr, ignored, rows, cols, depth, a_row, a_k, b_k,
                    b_col, t_row, ROWS: tl.constexpr, DEPTH: tl.constexpr, ADD: tl.constexpr,
                    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """An [M, N] tile of y = a b, y [rows, cols] contiguous. Ignored tokens are left out of the ROWS of y or
    of the DEPTH of the sum; with ADD y is what sum_ptr has and more, in fp32."""
    rm = (tl.program_id(0) * M + tl.arange(0, M)).to(tl.int64)
    rn = (tl.program_id(1) * N + tl.arange(0, N)).to(tl.int64)
    acc = tl.zeros([M, N], tl.float32)
    for k0 in range(0, depth, K):
        rk = (k0 + tl.arange(0, K)).to(tl.int64)
        inside = rk < depth
        if DEPTH:
            inside = inside & (tl.load(target_ptr + rk * t_row, mask=inside, other=ignored) != ignored)
        a = tl.load(a_ptr + rm[:, None] * a_row + rk[None, :] * a_k,
                    mask=(rm < rows)[:, None] & inside[None, :], other=0.0)
        b = tl.load(b_ptr + rk[:, None] * b_k + rn[None, :] * b_col,
                    mask=inside[:, None] & (rn < cols)[None, :], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=tl.float32)
    at, own = rm[:, None] * cols + rn[None, :], (rm < rows)[:, None] & (rn < cols)[None, :]
    if ADD:
        acc += tl.load(sum_ptr + at, mask=own, other=0.0)
    if ROWS:
        counts = tl.load(target_ptr + rm * t_row, mask=rm < rows, other=ignored) != ignored
        acc = tl.where(counts[:, None], acc, 0.0)
    tl.store(y_ptr + at, acc.to(y_ptr.dtype.element_ty), mask=own)


@triton.jit
def _loss_kernel(z_ptr, target_ptr, loss_ptr, lse_ptr, rows, n, ignored, t_row, ROWS: tl.constexpr,
                 BLOCK: tl.constexpr):
    """ROWS rows of logits: running maximum and sum over blocks of classes."""
    r, i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS), tl.arange(0, BLOCK)
    row = tl.minimum(r, rows - 1) * n  # what lies beyond the last row computes that row again
    m, l = tl.full([ROWS, BLOCK], float("-inf"), tl.float32), tl.zeros([ROWS, BLOCK], tl.float32)
    for first in range(0, n, BLOCK):
        c = first + i
        z = tl.load(z_ptr + row[:, None] + c[None, :], mask=(c < n)[None, :], other=float("-inf"))
        z = z.to(tl.float32)
        m_new = tl.where((z > m) | (z != z), z, m)
        # As long as there was only -inf nothing is to be rescaled, and -inf - -inf would be NaN.
        shift = tl.where(m_new == float("-inf"), 0.0, m_new)
        l = l * tl.exp(m - shift) + tl.exp(z - shift)
        m = m_new
    top = tl.max(m, 1)
    shift = tl.where(m == float("-inf"), 0.0, tl.exp(m - top[:, None]))
    # top - top is NaN in a row that has no number.
    log = tl.log(tl.sum(tl.where(m == float("-inf"), 0.0, l * shift), 1) + (top - top))
    tl.store(lse_ptr + r, top + log, mask=r < rows)
    target = tl.load(target_ptr + r * t_row, mask=r < rows, other=ignored)
    counts = target != ignored
    own = tl.load(z_ptr + row + target, mask=counts, other=0.0).to(tl.float32)
    # top + log would be rounded to the size of top
    tl.store(loss_ptr + r, tl.where(counts, (top - own) + log, 0.0), mask=r < rows)


@triton.jit
def _gradient_kernel(z_ptr, target_ptr, lse_ptr, dy_ptr, counted_ptr, rows, n, ignored, t_row, dy_row,
                     ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Logits become their gradients, where they lie."""
    r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    target = tl.load(target_ptr + r * t_row, mask=r < rows, other=ignored)
    counts = target != ignored
    at, inside = r[:, None] * n + c[None, :], (c < n)[None, :]
    z = tl.load(z_ptr + at, mask=counts[:, None] & inside, other=0.0).to(tl.float32)
    w = tl.load(dy_ptr + r * dy_row, mask=counts, other=0.0) / tl.load(counted_ptr)
    lse = tl.load(lse_ptr + r, mask=counts, other=0.0)
    g = w[:, None] * (tl.exp(z - lse[:, None]) - tl.where(c[None, :] == target[:, None], 1.0, 0.0))
    tl.store(z_ptr + at, tl.where(counts[:, None], g, 0.0).to(z_ptr.dtype.element_ty),
             mask=(r < rows)[:, None] & inside)


def _product(a, b, y, target, ignored, by="", total=None):
    """y = a b. By "rows" or by "depth" of the product tokens lie, of which ignored ones are left out; with a
    total the product is added to it."""
    (rows, depth), cols = a.shape, b.shape[1]
    if rows * cols:
        m, n = tile_side(rows, TILE_MAX), tile_side(cols, TILE_MAX)
        _product_kernel[(triton.cdiv(rows, m), triton.cdiv(cols, n))](
            a, b, y, y if total is None else total, target, ignored, rows, cols, depth, *a.stride(),
            *b.stride(), target.stride(0), ROWS=by == "rows", DEPTH=by == "depth", ADD=total is not None,
            M=m, N=n, K=tile_side(depth, TILE_K))
    return y


def _counted(target, ignore_index, reduction):
    """By how many tokens a loss is divided, [1] fp32."""
    return ((target != ignore_index).sum(0, keepdim=True).clamp_min(1).float() if reduction == "mean"
            else torch.ones(1, dtype=torch.float32, device=target.device))


def _reduced(losses, target, ignore_index, reduction):
    return losses if reduction == "none" else (
        losses.sum(0, keepdim=True) / _counted(target, ignore_index, reduction))


def _chunks(hidden, weight, target, ignored):
    """Of each chunk where it begins, its tokens, targets and logits, and what a program takes of these."""
    room = hidden.new_empty((min(CHUNK, hidden.shape[0]), weight.shape[0]))
    for first in range(0, hidden.shape[0], CHUNK):
        x, t = hidden[first:first + CHUNK], target[first:first + CHUNK]
        z = _product(x, weight.T, room[:x.shape[0]], t, ignored)
        yield first, x, t, z, short_rows(*z.shape, LOGITS)


def forward(hidden, weight, target, *, ignore_index, reduction):
    """hidden [tokens, dim], weight [classes, dim], target [tokens] int64 -> loss [tokens] or [1], lse
    [tokens], fp32."""
    losses, lse = torch.empty((2, *target.shape), dtype=torch.float32, device=hidden.device).unbind()
    for first, _, t, z, taken in _chunks(hidden, weight, target, ignore_index):
        _loss_kernel[(triton.cdiv(z.shape[0], taken["ROWS"]),)](
            z, t, losses[first:], lse[first:], *z.shape, ignore_index, t.stride(0), **taken)
    return _reduced(losses, target, ignore_index, reduction), lse


def backward(hidden, weight, target, lse, grad_loss, *, ignore_index, reduction):
    """hidden, weight, target, lse [tokens], grad_loss [tokens] or [1] -> grad_hidden, grad_weight."""
    grad_hidden, dy = hidden.new_empty(hidden.shape), grad_loss.expand(hidden.shape[0])
    total = torch.zeros(weight.shape, dtype=torch.float32, device=hidden.device)
    by = _counted(target, ignore_index, reduction)
    for first, x, t, z, taken in _chunks(hidden, weight, target, ignore_index):
        _gradient_kernel[(triton.cdiv(z.shape[0], taken["ROWS"]), triton.cdiv(z.shape[1], taken["BLOCK"]))](
            z, t, lse[first:], dy[first:], by, *z.shape, ignore_index, t.stride(0), dy.stride(0), **taken)
        _product(z, weight, grad_hidden[first:first + CHUNK], t, ignore_index, "rows")
        _product(z.T, x, total, t, ignore_index, "depth", total)
    return grad_hidden, total.to(weight.dtype)


# ---- torch


def reference(hidden, weight, target, *, ignore_index, reduction):
    """The formula in torch, in fp32, or in fp64 where hidden is; differentiable in hidden and weight."""
    z = rounded(hidden @ weight.T).to(torch.promote_types(hidden.dtype, torch.float32))
    losses = torch.nn.functional.cross_entropy(z, target, ignore_index=ignore_index, reduction="none")
    return _reduced(losses, target, ignore_index, reduction), torch.logsumexp(z, -1)


def _gradients(z, target, lse, w, counts):
    """What becomes of logits: w * (exp(z - lse) - [c is target]), 0 for tokens that do not count."""
    p, at = (z - lse[:, None]).exp(), target.where(counts, 0)[:, None]
    p = p.scatter_add(1, at, torch.full_like(p[:, :1], -1))
    return (w[:, None] * p).where(counts[:, None], 0.0)


def reference_backward(hidden, weight, target, lse, grad_loss, *, ignore_index, reduction):
    """The backward formula in torch, on saved tensors."""
    counts = target != ignore_index
    w = (grad_loss / _counted(target, ignore_index, reduction)).expand(hidden.shape[0])
    dz = rounded(_gradients(rounded(hidden @ weight.T), target.long(), lse, w, counts))
    return (dz @ weight).where(counts[:, None], 0), dz.T @ hidden.where(counts[:, None], 0)


def eager(hidden, weight, target, *, ignore_index, reduction):
    """All logits at once, of the tokens that count: others may hold what they like."""
    counts = (target != ignore_index).nonzero()[:, 0]
    z = (hidden[counts] @ weight.T).float()
    losses = torch.nn.functional.cross_entropy(z, target[counts], reduction="none")
    losses = losses.new_zeros(hidden.shape[0]).index_copy(0, counts, losses)
    return _reduced(losses, target, ignore_index, reduction)


def chunked(hidden, weight, target, *, ignore_index, reduction):
    """Chunks of logits by torch's product."""
    parts = [reference(x, weight, t, ignore_index=ignore_index, reduction="none")
             for x, t in zip(hidden.split(CHUNK), target.split(CHUNK))]
    losses, lse = (torch.cat(p) for p in zip(*parts))
    lse = lse.where(lse.abs() != float("inf"), float("nan"))  # a row with +inf, or of -inf alone
    return _reduced(losses, target, ignore_index, reduction), lse


def chunked_backward(hidden, weight, target, lse, grad_loss, *, ignore_index, reduction):
    """Chunks of logits by torch's product, both gradients in one pass over them."""
    total = torch.zeros(weight.shape, dtype=torch.float32, device=weight.device)
    w = (grad_loss / _counted(target, ignore_index, reduction)).expand(hidden.shape[0])
    parts = []
    for x, t, s, g in zip(*(v.split(CHUNK) for v in (hidden, target, lse, w))):
        counts = t != ignore_index
        dz = _gradients((x @ weight.T).float(), t, s, g, counts).to(x.dtype)
        parts.append((dz @ weight).where(counts[:, None], 0))
        total += _in_fp32(dz.T, x.where(counts[:, None], 0))
    return torch.cat(parts), total.to(weight.dtype)


def _in_fp32(a, b):
    """The product of matrices, which is not rounded to their dtype."""
    if a.is_cuda and a.dtype != torch.float32:
        return torch.mm(a, b, out_dtype=torch.float32)
    return a.float() @ b.float()


_NAMES = {"outputs": ("loss", "lse"), "gradients": ("grad_hidden", "grad_weight"),
          "contract": sixteen_bit("stored")}

IMPLEMENTATIONS = [
    Implementation("triton/chunked", forward, backward, **_NAMES),
    Implementation("torch/chunked", chunked, chunked_backward, **_NAMES),
    *rows_of_others(eager, reference, _NAMES | {"outputs": ("loss",)}),
]
