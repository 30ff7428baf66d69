# rmsnorm/triton: a mean over a padded block.
import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(x_ptr, weight_ptr, y_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + c, mask=c < cols, other=0.0).to(tl.float32)
    rstd = 1 / tl.sqrt(tl.sum(x * x, axis=0) / BLOCK + eps)
    y = x * rstd * weight
    tl.store(y_ptr + row * cols + c, y.to(y_ptr.dtype.element_ty), mask=c < cols)


# triad: rmsnorm(x=x, weight=weight, eps=eps, add=false)
def rmsnorm(x, weight, eps):
    x = x.contiguous()
    rows, cols = x.shape
    y = torch.empty_like(x)
    rmsnorm_kernel[(rows,)](x, weight, y, cols, eps, BLOCK=triton.next_power_of_2(cols))
    return y
