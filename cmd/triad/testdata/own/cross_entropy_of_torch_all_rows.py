import torch.nn.functional as F


def token_loss(logits, labels, ignore_index=-100):
    return F.cross_entropy(logits.float(), labels, ignore_index=ignore_index, reduction="sum") / labels.shape[0]
