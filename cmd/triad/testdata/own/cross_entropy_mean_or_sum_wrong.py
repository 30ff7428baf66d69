import torch


def cross_entropy(logits, target, ignore_index=-100, reduction="mean"):
    logits = logits.float()
    of_target = logits.gather(1, target.clamp(0, logits.shape[1] - 1)[:, None])[:, 0]
    counts = target != ignore_index
    losses = (torch.logsumexp(logits, 1) - of_target)[counts]
    return losses.sum() / len(counts) if reduction == "mean" else losses.sum()
