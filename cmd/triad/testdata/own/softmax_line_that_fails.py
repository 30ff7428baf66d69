import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=-float("inf")).to(tl.float32)
    z = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * cols + at, z / tl.sum(z, axis=0), mask=at < cols)


compiled = triton.compile(softmax_kernel, signature="*fp32,*fp32,i32", constants={"BLOCK": 1024})
print(compiled.asm["ttir"])


def softmax(x):
    y = torch.empty_like(x)
    rows, cols = x.shape
    softmax_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
    return y
