import torch


def quantize(x):
    assert x.abs().max() < 1e30
    scale = torch.empty(x.shape[0], device=x.device)
    torch.amax(x.abs().float(), 1, out=scale)
    scale = (scale / 127).clamp_min(1e-12)
    q = torch.round(x.float() / scale[:, None]).clamp(-127, 127).to(torch.int8)
    return q, scale
