"""What a build of torch refuses of fp8_linear: no list says it, so calls of the same sizes are tried."""

import functools

import torch


@functools.cache
def _refused(row, recipe: str, dtype: torch.dtype, m: int, n: int, k: int, backward: bool,
             device: str) -> str:
    """What is said against a call of a row's functions, "" for nothing. It gets ones; what it answers is not
    looked at: that is judged."""
    x, w = (torch.ones(shape, dtype=dtype, device=device) for shape in ((m, k), (n, k)))
    try:
        if backward:
            row[1](x, w, x.new_ones((m, n)), recipe=recipe)
        else:
            row[0](x, w, recipe=recipe)
    except (RuntimeError, ValueError, NotImplementedError, AssertionError) as e:
        return (str(e) or type(e).__name__).splitlines()[0].split("please report a bug to PyTorch. ")[-1]
    return ""


def accepts_tried(name: str, forward, backward):
    """The accepts of a row of fp8_linear with these functions."""
    def accepts_sizes(direction, x, w, *rest, recipe):
        (m, k), n = x.shape, w.shape[0]
        if why := _refused((forward, backward), recipe, x.dtype, m, n, k, direction == "backward",
                           x.device.type):
            return (f"fp8_linear/{name}: {recipe}, m {m}, n {n}, k {k}: torch {torch.__version__} on "
                    f"{x.device.type} refuses: {why}")
        return None
    return accepts_sizes
