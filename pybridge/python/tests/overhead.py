"""What an operator adds to its kernel's launch, in host time: on a GPU beside the kernels themselves, without one beside a library of plain loops
(stub_kernels.cpp), whose time is subtracted. Microseconds a call, the best of several series; nothing waits for the GPU in between."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time

import torch

import triad
from triad.torch import extension, ops


def cost(function, calls=1000, series=9):
    """Microseconds a call."""
    best = float("inf")
    for _ in range(series):
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        best = min(best, (time.perf_counter() - begin) / calls)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    return best * 1e6


def series(impl, device):
    x = torch.randn(8, 64, device=device)
    leaf, upstream = x.clone().requires_grad_(), torch.randn(8, 64, device=device)

    def ours():
        return {"forward": cost(lambda: ops.softmax(x, impl=impl)), "forward, x requires a gradient": cost(lambda: ops.softmax(leaf, impl=impl)),
                "forward and backward": cost(lambda: torch.autograd.grad(ops.softmax(leaf, impl=impl), leaf, upstream))}
    theirs = {"forward": cost(lambda: torch.softmax(x, -1)), "forward, x requires a gradient": cost(lambda: torch.softmax(leaf, -1)),
              "forward and backward": cost(lambda: torch.autograd.grad(torch.softmax(leaf, -1), leaf, upstream))}
    os.environ[extension.SWITCH] = "0"
    extension.loaded = None
    in_python = ours()
    plan = next(p for p in ops.softmax._plans.values() if p.backward is None)
    launch = plan.forward.launch
    made = launch([x])
    address = launch._spare[-1][1]
    by_ctypes = cost(lambda: launch._launch(address))
    del made
    fast = extension.load()
    for t in (x, leaf):
        ops.softmax(t, impl=impl)
    in_cpp = ours()
    raw = min(fast.raw(ops.softmax._number, (x,), impl, {}, 1000) for _ in range(9)) * 1e6
    print(f"softmax of 8 x 64 in fp32 by {impl} on {torch.cuda.get_device_name() if device == 'cuda' else 'a CPU, through the ABI'}, torch {torch.__version__}; host us a call")
    print(f"the launch alone: {raw:.2f} through the C ABI, {by_ctypes:.2f} through ctypes")
    print(f"{'':32}{'torch':>8}{'Python':>8}{'adds':>8}{'C++':>8}{'adds':>8}")
    for what in theirs:
        alone = what != "forward and backward"
        adds = [f"{t - r:8.1f}" if alone else f"{'':8}" for t, r in ((in_python[what], by_ctypes), (in_cpp[what], raw))]
        print(f"{what:32}{theirs[what]:8.1f}{in_python[what]:8.1f}{adds[0]}{in_cpp[what]:8.1f}{adds[1]}")


def package():
    """The import, in interpreters of their own, and a call into Go and back."""
    import numpy

    from triad import go
    code = "import time; a = time.perf_counter(); import triad; print(time.perf_counter() - a)"
    best = min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(5))
    one = numpy.ones(1).ctypes
    try:
        call = f"{cost(lambda: go.call('Encode', 'fp64', one.data, one.data, 1)):.2f} us"
    except triad.Unavailable as e:
        call = f"not to be had: {e}"
    print(f"import triad: {best * 1e3:.0f} ms; a call into Go and back, one element encoded: {call}")


def main():
    package()
    with contextlib.ExitStack() as stack:
        if torch.cuda.is_available():
            series("cuda/block", "cuda")
            return
        import test_eager
        os.environ["XDG_DATA_HOME"] = stack.enter_context(tempfile.TemporaryDirectory())
        test_eager.setUpModule()
        stack.callback(test_eager.tearDownModule)
        series("cuda/stub", "cpu")


if __name__ == "__main__":
    main()
