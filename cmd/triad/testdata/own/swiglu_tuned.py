import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 1024}, num_warps=4), triton.Config({"BLOCK": 2048}, num_warps=8)],
                 key=["n"])
@triton.jit
def _swiglu(gate, up, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(gate + i, mask=i < n, other=0).to(tl.float32)
    u = tl.load(up + i, mask=i < n, other=0).to(tl.float32)
    tl.store(out + i, g * tl.sigmoid(g) * u, mask=i < n)


def swiglu(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(gate)
    n = gate.numel()
    _swiglu[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](gate, up, out, n)
    return out
