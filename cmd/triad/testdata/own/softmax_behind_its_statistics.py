import torch


def softmax(x):
    largest = torch.max(x, dim=-1, keepdim=True)[0]
    e = torch.exp(x - largest)
    total = torch.sum(e, dim=-1, keepdim=True)
    return largest, total, e / total
