@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK: tl.constexpr):
    """A cell below the one that imports."""
    at = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n_elements
    total = tl.load(x_ptr + at, mask=inside) + tl.load(y_ptr + at, mask=inside)
    tl.store(out_ptr + at, total, mask=inside)


def add(x, y):
    out = torch.empty_like(x)
    n = out.numel()
    add_kernel[(triton.cdiv(n, 512),)](x, y, out, n, BLOCK=512)
    return out
