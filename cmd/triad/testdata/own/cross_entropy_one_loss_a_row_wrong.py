import torch


def cross_entropy(logits, target):
    logits = logits.float()
    return logits.amax(1) - logits.gather(1, target[:, None])[:, 0]
