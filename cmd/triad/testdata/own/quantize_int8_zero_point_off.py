# The zero point that is returned is one more than the one that the codes have.
import math
import torch

SIXTEEN = (torch.float16, torch.bfloat16)  # judged in 16 bits too


def quantize_int8(x, mode="symmetric", per="tensor"):
    v = x.float()
    rows = v if per == "row" else v.reshape(1, -1)
    if rows.shape[1] == 0 or rows.shape[0] == 0:
        scale = torch.ones(rows.shape[0])
        zero = torch.zeros(rows.shape[0])
    elif mode == "symmetric":
        scale = torch.clamp(rows.abs().amax(1) / 127, min=2**-126)
        zero = torch.zeros_like(scale)
        scale = torch.where(rows.abs().amax(1) == 0, torch.ones_like(scale), scale)
    else:
        lo, hi = torch.clamp(rows.amin(1), max=0), torch.clamp(rows.amax(1), min=0)
        scale = torch.clamp(hi / 255 - lo / 255, min=2**-126)
        scale = torch.where(hi - lo == 0, torch.ones_like(scale), scale)
        zero = torch.clamp(torch.round(-lo / scale) - 128, -128, 127)
    q = torch.clamp(torch.round(rows / scale[:, None]) + zero[:, None], -128, 127).to(torch.int8).reshape(x.shape)
    zero = (zero + 1).to(torch.int32)[: 0 if mode == "symmetric" else len(zero)]
    return q, scale, zero
