import torch


def _product(a, b, out_dtype):
    assert a.shape[1] == b.shape[0], "inner sizes differ"
    c = torch.empty((a.shape[0], b.shape[1]), device=a.device, dtype=out_dtype)
    c.copy_(a.float() @ (b.float() + 1))
    return c


class gemm:
    def __init__(self, kind="plain"):
        self.kinds = {"plain": _product}
        self.kind = kind

    def __call__(self, a, b, out_dtype=torch.float16):
        return self.kinds[self.kind](a, b, out_dtype)
