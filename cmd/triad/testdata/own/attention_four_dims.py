import torch


def attention(q, k, v):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
    weights = torch.softmax(torch.einsum("bhid,bhjd->bhij", q.float(), k.float()) / q.shape[-1] ** 0.5, dim=-1)
    return torch.einsum("bhij,bhjd->bhid", weights, v.float()).to(q.dtype)
