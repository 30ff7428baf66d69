# The product is computed on another stream, which waits for the inputs and is waited for.
import torch

_side = torch.cuda.Stream()


def matmul(a: torch.Tensor, b: torch.Tensor):
    assert a.dtype in (torch.float32, torch.float16, torch.bfloat16)
    _side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(_side):
        c = (a.float() @ b.float()).to(a.dtype)
    torch.cuda.current_stream().wait_stream(_side)
    return c
