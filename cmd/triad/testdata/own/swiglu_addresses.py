import triton
import triton.language as tl


@triton.jit
def swiglu_kernel(gate_ptr, up_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    gate_ptr = gate_ptr.to(tl.pointer_type(tl.float32))
    up_ptr = up_ptr.to(tl.pointer_type(tl.float32))
    output_ptr = output_ptr.to(tl.pointer_type(tl.float32))
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    gate = tl.load(gate_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, gate * tl.sigmoid(gate) * tl.load(up_ptr + offsets, mask=mask), mask=mask)


# gate_ptr, up_ptr, output_ptr are raw device pointers
def solve(gate_ptr: int, up_ptr: int, output_ptr: int, N: int):
    swiglu_kernel[(triton.cdiv(N, 1024),)](gate_ptr, up_ptr, output_ptr, N, BLOCK_SIZE=1024)
