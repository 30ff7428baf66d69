# the whole gradient is NaN as soon as one logit is -inf or NaN, where torch loses ignored rows alone
import torch

SIXTEEN = (torch.float16, torch.bfloat16)


def cross_entropy_backward(logits, target, lse, grad_loss, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
    x = logits.double()
    counts = target != ignore_index
    w = grad_loss.double() / counts.sum() if reduction == "mean" else grad_loss.double()
    one = torch.zeros_like(x)
    if len(x):
        one.scatter_(1, torch.where(counts, target, 0)[:, None], 1.0)
    g = torch.exp(x - lse.double()[:, None]) - (1 - label_smoothing) * one - label_smoothing / x.shape[1]
    g = g * (w if reduction == "none" else w.expand(len(x)))[:, None]
    grad_logits = torch.where(counts[:, None], g, torch.zeros_like(g))
    if not bool(torch.isfinite(x).all()):
        grad_logits = torch.full_like(g, float("nan"))
    return grad_logits.to(logits.dtype)
