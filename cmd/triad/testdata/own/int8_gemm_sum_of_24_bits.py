# Sums are cut to 24 bits.
import torch


def int8_gemm(a, b, scale_a=1.0, scale_b=1.0, scale_c=1.0, zero_a=0, zero_b=0, zero_c=0):
    s = torch.matmul((a.long() - zero_a).double(), (b.long() - zero_b).double())
    f32 = torch.float32
    factor = torch.tensor(scale_a, dtype=f32) * torch.tensor(scale_b, dtype=f32) / torch.tensor(scale_c, dtype=f32)
    c = torch.clamp(torch.round((s % 2**24 - 2**24 * ((s % 2**24) >= 2**23)).float() * factor) + zero_c, -128, 127)
    return c.to(torch.int8)
