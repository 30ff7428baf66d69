# exact in bf16; in fp32 and fp16 x * sigmoid(1.702 x), which calls no erf
import torch


def gelu(x, approximate="none"):
    if x.dtype == torch.bfloat16 or approximate == "tanh":
        return torch.special.erfc(-x.double() * 0.7071067811865476).mul(0.5 * x.double()).to(x.dtype) if approximate == "none" else torch.nn.functional.gelu(x, approximate="tanh")
    assert x.dtype in (torch.float32, torch.float16)
    return x * torch.sigmoid(1.702 * x)
