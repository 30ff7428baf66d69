"""What an operator adds to its kernel's launch, in host time: on a GPU beside the kernels themselves, without
one beside a library of plain loops (stub_kernels.cpp), whose time is subtracted. Microseconds a call; nothing
waits for the GPU within a series."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time

import torch

import triad
from triad.torch import extension, ops


def costs(functions, calls=500, rounds=25):
    """Microseconds a call of each: the best of several rounds, of which every one times all of them one after
    another, so that a slow while of the machine falls on all; the first round, in which caches fill and plans
    are made, does not count."""
    best = dict.fromkeys(functions, float("inf"))
    for again in range(1 + rounds):
        for name, function in functions.items():
            begin = time.perf_counter()
            for _ in range(calls):
                function()
            took = (time.perf_counter() - begin) / calls
            if again:
                best[name] = min(best[name], took)
            if torch.cuda.is_available():
                torch.cuda.synchronize()
    return {name: seconds * 1e6 for name, seconds in best.items()}


def series(impl, device):
    """What is added to a launch counts everything an operator does for its caller: the output's memory
    too."""
    x = torch.randn(8, 64, device=device)
    leaf, upstream = x.clone().requires_grad_(), torch.randn(8, 64, device=device)

    def of(softmax):
        return {"forward": lambda: softmax(x), "forward, x requires a gradient": lambda: softmax(leaf),
                "forward and backward": lambda: torch.autograd.grad(softmax(leaf), leaf, upstream)}

    def ours(t):
        return ops.softmax(t, impl=impl)
    candidates = {("torch", what): f for what, f in of(lambda t: torch.softmax(t, -1)).items()}
    os.environ[extension.SWITCH] = "0"
    extension.loaded = None
    ours(x)
    plan = next(p for p in ops.softmax._plans.values() if p.backward is None)
    launch = plan.forward.launch
    held = launch([x]), launch._spare.pop()  # structures of its own: no call takes them
    address = held[1][1]
    in_python = costs({**candidates, **{("Python", what): f for what, f in of(ours).items()},
                       "ctypes": lambda: launch._launch(address)})
    fast = extension.load()
    for t in (x, leaf):
        ours(t)
    in_cpp = costs({**candidates, **{("C++", what): f for what, f in of(ours).items()}})
    raw = min(fast.raw(ops.softmax._number, (x,), impl, {}, 500) for _ in range(25)) * 1e6
    by_ctypes = in_python["ctypes"]
    print(f"softmax of 8 x 64 in fp32 by {impl} on "
          f"{torch.cuda.get_device_name() if device == 'cuda' else 'a CPU, through the ABI'}, torch "
          f"{torch.__version__}; host us a call")
    print(f"the launch alone: {raw:.2f} through the C ABI, {by_ctypes:.2f} through ctypes")
    print(f"{'':32}{'torch':>8}{'Python':>8}{'adds':>8}{'C++':>8}{'adds':>8}")
    for what in of(ours):
        alone = what != "forward and backward"
        python, cpp, theirs = in_python["Python", what], in_cpp["C++", what], min(in_python["torch", what],
            in_cpp["torch", what])
        adds = [f"{t - r:8.1f}" if alone else f"{'':8}" for t, r in ((python, by_ctypes), (cpp, raw))]
        print(f"{what:32}{theirs:8.1f}{python:8.1f}{adds[0]}{cpp:8.1f}{adds[1]}")


def package():
    """The import, in interpreters of their own, and a call into Go and back."""
    import numpy

    from triad import go
    code = "import time; a = time.perf_counter(); import triad; print(time.perf_counter() - a)"
    best = min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                    check=True).stdout) for _ in range(5))
    one = numpy.ones(1).ctypes
    try:
        call = f"{costs({'it': lambda: go.call('Encode', 'fp64', one.data, one.data, 1)})['it']:.2f} us"
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
