# Results are rounded to 16 bits half to even, in integers.
import torch

SIXTEEN = (torch.float16, torch.bfloat16)  # judged in 16 bits too


def _rounded(v, dtype):
    if dtype not in (torch.float16, torch.bfloat16):
        return v.to(dtype)
    drop = 16 if dtype == torch.bfloat16 else 13
    f = v.float()
    b = f.contiguous().view(torch.int32)
    up = ((b + (1 << (drop - 1)) - 1 + ((b >> drop) & 1)) & -(1 << drop)).view(torch.float32)
    small = f.abs() < (2.0**-126 if drop == 16 else 2.0**-14)
    return torch.where(torch.isfinite(f) & ~small, up, f).to(dtype)


def add(x, y):
    z = _rounded((x.float() + y.float()), x.dtype)
    return z


def add_backward(grad_z):
    grad_x, grad_y = grad_z.clone(), grad_z.clone()
    return grad_x, grad_y
