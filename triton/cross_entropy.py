"""cross_entropy: loss_r = (1-s) * (lse_r - x[r,target_r]) + s * (lse_r - mean_c x[r,c]), s = label_smoothing
backward: grad_logits[r,c] = w_r * (exp(x[r,c] - lse_r) - (1-s) * [c is target_r] - s / classes)

Layout   logits, grad_logits: [rows, classes], inputs with any strides; target: [rows] int64;
         lse: [rows] fp32; loss, grad_loss: [rows], or [1] for a sum or a mean, fp32. fp32, fp16, bf16;
         every value inside is fp32.
Limits   a row whose target is ignore_index has loss and gradient 0; so has a mean over no row.
Source   Milakov and Gimelshein 2018, arXiv:1805.02867 (online)
  triton/online  a row per program, running maximum and sum over blocks of classes
  torch/eager    torch.nn.functional.cross_entropy in fp32
  torch/compile  the same through Inductor
  liger/kernel   Liger-Kernel's, whose forward leaves gradients where the logits were
  quack/kernel   quack-kernels' CuTe kernel
"""

import torch

from implementation import INTERPRETED, Implementation, next_power_of_2, tl, triton
from library_losses import rows_of_others

DIFFERENTIABLE = (0,)  # of the inputs of reference
BLOCK = 16384 if INTERPRETED else 4096  # classes of a step


@triton.jit
def _cross_entropy_fwd_kernel(
        x_ptr, target_ptr, loss_ptr, lse_ptr, n, ignored, s, x_row, x_col, t_row, BLOCK: tl.constexpr):
    r, i = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    m, l = tl.full([BLOCK], float("-inf"), tl.float32), tl.zeros([BLOCK], tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(0, n, BLOCK):
        c = (first + i).to(tl.int64)
        x = tl.load(x_ptr + r * x_row + c * x_col, mask=c < n, other=float("-inf")).to(tl.float32)
        total += tl.where(c < n, x, 0.0)
        m_new = tl.where((x > m) | (x != x), x, m)
        # As long as there was only -inf nothing is to be rescaled, and -inf - -inf would be NaN.
        shift = tl.where(m_new == float("-inf"), 0.0, m_new)
        l = l * tl.exp(m - shift) + tl.exp(x - shift)
        m = m_new
    top = tl.max(m, 0)
    shift = tl.where(m == float("-inf"), 0.0, tl.exp(m - top))
    # top - top is NaN in a row that has no number.
    log = tl.log(tl.sum(tl.where(m == float("-inf"), 0.0, l * shift), 0) + (top - top))
    tl.store(lse_ptr + r, top + log)
    target = tl.load(target_ptr + r * t_row)
    loss = 0.0
    if target != ignored:
        # top + log would be rounded to the size of top
        loss = (top - tl.load(x_ptr + r * x_row + target * x_col).to(tl.float32)) + log
        if s > 0:
            loss = (1 - s) * loss + s * ((top - tl.sum(total, 0) / n) + log)
    tl.store(loss_ptr + r, loss)


@triton.jit
def _cross_entropy_bwd_kernel(x_ptr, target_ptr, lse_ptr, dy_ptr, dx_ptr, n, ignored, s, counted_ptr,
                              x_row, x_col, t_row, dy_row, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = (tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    target = tl.load(target_ptr + r * t_row)
    g = tl.zeros([BLOCK], tl.float32)
    if target != ignored:
        x = tl.load(x_ptr + r * x_row + c * x_col, mask=c < n, other=0.0).to(tl.float32)
        w = tl.load(dy_ptr + r * dy_row) / tl.load(counted_ptr)
        g = w * (tl.exp(x - tl.load(lse_ptr + r)) - s / n - tl.where(c == target, 1 - s, 0.0))
    tl.store(dx_ptr + r * n + c, g.to(dx_ptr.dtype.element_ty), mask=c < n)


def _counted(target, ignore_index, reduction):
    """By how many rows a loss is divided, [1] fp32."""
    if reduction == "mean":
        return (target != ignore_index).sum(0, keepdim=True).clamp_min(1).float()
    return torch.ones(1, dtype=torch.float32, device=target.device)


def forward(logits, target, *, ignore_index, label_smoothing, reduction):
    """logits [rows, classes], target [rows] int64 -> loss [rows] or [1], lse [rows], fp32."""
    rows, n = logits.shape
    loss, lse = torch.empty((2, rows), dtype=torch.float32, device=logits.device).unbind()
    if rows:
        _cross_entropy_fwd_kernel[(rows,)](logits, target, loss, lse, n, ignore_index, label_smoothing,
                                           *logits.stride(), target.stride(0),
                                           BLOCK=min(BLOCK, next_power_of_2(n)))
    if reduction != "none":
        loss = loss.sum(0, keepdim=True) / _counted(target, ignore_index, reduction)
    return loss, lse


def backward(logits, target, lse, grad_loss, *, ignore_index, label_smoothing, reduction):
    """logits [rows, classes], target, lse [rows], grad_loss [rows] or [1] -> grad_logits [rows, classes]."""
    (rows, n), step = logits.shape, grad_loss.stride(0) if reduction == "none" else 0
    grad, block = logits.new_empty(logits.shape), min(BLOCK, next_power_of_2(n))
    if rows:
        _cross_entropy_bwd_kernel[(rows, triton.cdiv(n, block))](
            logits, target, lse, grad_loss, grad, n, ignore_index, label_smoothing,
            _counted(target, ignore_index, reduction), *logits.stride(), target.stride(0), step, BLOCK=block)
    return grad


def reference(logits, target, *, ignore_index, label_smoothing, reduction):
    """The formula in torch, in fp32, or in fp64 where logits are; differentiable."""
    wide = logits if logits.dtype == torch.float64 else logits.float()
    loss = torch.nn.functional.cross_entropy(wide, target, ignore_index=ignore_index, reduction="none",
                                             label_smoothing=label_smoothing)
    if reduction != "none":
        loss = loss.sum(0, keepdim=True) / _counted(target, ignore_index, reduction)
    return loss, torch.logsumexp(wide, -1)


def reference_backward(logits, target, lse, grad_loss, *, ignore_index, label_smoothing, reduction):
    """The backward formula in torch, on saved tensors."""
    target = target.long()
    counts = (target != ignore_index)[:, None]
    q = torch.full_like(logits, label_smoothing / logits.shape[1])
    q.scatter_add_(1, target.where(counts[:, 0], 0)[:, None], torch.full_like(q[:, :1], 1 - label_smoothing))
    w = grad_loss / _counted(target, ignore_index, reduction)
    return (w[:, None] * ((logits - lse[:, None]).exp() - q)).where(counts, 0.0)


def _loss(logits, target, **attributes):
    return reference(logits, target, **attributes)[0]


_NAMES = {"outputs": ("loss", "lse"), "gradients": ("grad_logits",)}
_LOSS = {"outputs": ("loss",), "gradients": ("grad_logits",)}

IMPLEMENTATIONS = [
    Implementation("triton/online", forward, backward, **_NAMES),
    *rows_of_others(_loss, _LOSS),
]
