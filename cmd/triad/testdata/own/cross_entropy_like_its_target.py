"""A loss for each row, made like the classes: the forward of an autograd function."""
import torch


class CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, target):
        loss = torch.empty_like(target, dtype=torch.float32)
        f = logits.float()
        picked = f.gather(1, target[:, None])[:, 0]
        loss.copy_(torch.logsumexp(f, 1) - picked)
        ctx.save_for_backward(logits, target)
        return loss

    @staticmethod
    def backward(ctx, grad):
        logits, target = ctx.saved_tensors
        p = torch.softmax(logits.float(), 1)
        p[torch.arange(len(target), device=p.device), target] -= 1
        return (p * grad[:, None]).to(logits.dtype), None


cross_entropy = CrossEntropy.apply
