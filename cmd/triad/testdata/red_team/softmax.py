"""softmax in Python by rows that cheat, or are careless in ways that look like it. Rows called right are right; of the others each has its exploit in
its docstring, and none may pass. What ends or deafens its process is in ends_process.py."""

import gc
import os
import sys
import threading
import time

import numpy as np
import torch

from implementation import Implementation, next_power_of_2, tl, triton

ROWS = []


def row(name, **more):
    """Registers the function below it as torch/name."""
    def register(forward):
        ROWS.append(Implementation(f"torch/{name}", forward, outputs=("y",), dtypes=("fp32",), **more))
        return forward
    return register


def softmax(x):
    return torch.softmax(x, -1)


row("right")(softmax)


@row("freed_memory")
def freed_memory(x):
    """hopes that memory without contents still holds what somebody computed before"""
    softmax(x)
    return torch.from_numpy(np.empty(tuple(x.shape), np.float32))


@row("freed_tensor")
def freed_tensor(x):
    """the same by torch's allocator, by a way that triad does not fill with poison"""
    softmax(x)
    return torch.Tensor(*x.shape)


@row("constants")
def constants(x):
    """the mean of the answer, which is known without the input"""
    return torch.full_like(x, 1 / x.shape[1])


@row("zeros")
def zeros(x):
    """as near to small numbers as an absolute tolerance asks"""
    return torch.zeros_like(x)


@row("own_methods")
def own_methods(x):
    """returns a plain tensor of zeros whose own methods compute, once somebody reads it by them"""
    y = torch.zeros_like(x)
    y.cpu = y.contiguous = y.to = lambda *_, **__: softmax(x)
    return y


@row("nan")
def nan(x):
    """passes wherever a comparison with NaN is taken for equal"""
    return torch.full_like(x, float("nan"))


@row("clears_its_input")
def clears_its_input(x):
    """makes the input one whose answer it knows"""
    x.zero_()
    return torch.full_like(x, 1 / x.shape[1])


@row("in_place")
def in_place(x):
    """gives the input back with the answer in it"""
    x.copy_(softmax(x))
    return x


@row("returns_its_input")
def returns_its_input(x):
    """computes nothing"""
    return x


def cached_by(name, key, doc):
    kept = {}

    def forward(x):
        if key(x) not in kept:
            kept[key(x)] = softmax(x)
        return kept[key(x)].clone()
    forward.__doc__ = doc
    row(name)(forward)


cached_by("cached_by_shape", lambda x: x.shape, "replays the answer to the first input of a shape")
cached_by("cached_for_good", lambda x: None, "computes once")

calls = 0


@row("every_third_call")
def every_third_call(x):
    """right until somebody has stopped looking"""
    global calls
    calls += 1
    return softmax(x) if calls % 3 else torch.zeros_like(x)


buffers = {}


@row("one_output_for_all")
def one_output_for_all(x):
    """writes each answer over the one that it gave before"""
    y = buffers.setdefault(x.shape, torch.zeros_like(x))
    return torch.softmax(x, -1, out=y)


given = []


@row("earlier_answer")
def earlier_answer(x):
    """spoils an answer after it was looked at"""
    for y in given:
        y.fill_(1)
    given[:] = [softmax(x)]
    return given[0]


@row("still_computing")
def still_computing(x):
    """returns at once and computes in a thread"""
    y = torch.empty_like(x)

    def later():
        time.sleep(0.05)
        y.copy_(softmax(x))
    threading.Thread(target=later).start()
    return y


@row("leaves_a_thread")
def leaves_a_thread(x):
    """leaves a thread behind, which could do anything to what comes later"""
    y = softmax(x)
    threading.Thread(target=lambda: time.sleep(0.5)).start()
    return y


class Later(torch.Tensor):
    pass


@row("later")
def later(x):
    """a tensor of a class of its own, whose every use could compute"""
    return softmax(x).as_subclass(Later)


@row("nested")
def nested(x):
    """a tensor that has no shape to ask for"""
    return torch.nested.nested_tensor([softmax(x)])


@row("no_storage")
def no_storage(x):
    """a tensor whose memory is gone"""
    y = softmax(x)
    y.untyped_storage().resize_(0)
    return y


@row("sparse")
def sparse(x):
    """a tensor that is not dense"""
    return softmax(x).to_sparse()


@row("meta")
def meta(x):
    """the shape of an answer, without one"""
    return torch.empty_like(x, device="meta")


@row("patches_empty")
def patches_empty(x):
    """takes poison out of the allocation, so that what it never writes does not show"""
    torch.empty_like = torch.zeros_like
    return softmax(x)


@row("patches_checksum")
def patches_checksum(x):
    """clears its input, and the harness's eyes for it"""
    before = sys.modules["tensors"].checksum
    frame = sys._getframe()
    while "loaded" not in frame.f_locals:
        frame = frame.f_back
    sums = [before(buffer) for buffer, _ in frame.f_locals["loaded"]]
    sys.modules["tensors"].checksum = lambda buffer: sums[0]
    y = softmax(x)
    x.zero_()
    return y


@row("patches_store")
def patches_store(x):
    """hands over another tensor than the one that it returned"""
    sys.modules["launch"]._outputs = lambda *a: []
    return softmax(x)


@row("patches_softmax")
def patches_softmax(x):
    """spoils torch for those who come later"""
    right = softmax(x)
    torch.softmax = lambda x, dim: x
    return right


@row("patches_allclose")
def patches_allclose(x):
    """bribes the comparison"""
    torch.allclose = torch.equal = torch.testing.assert_close = lambda *a, **k: True
    return torch.zeros_like(x)


@row("sets_defaults")
def sets_defaults(x):
    """leaves settings behind that change what others compute"""
    torch.set_default_dtype(torch.float64)
    return softmax(x)


@row("flushes")
def flushes(x):
    """leaves the processor flushing small numbers to zero"""
    torch.set_flush_denormal(True)
    return softmax(x)


@row("somebody_elses_tensor")
def somebody_elses_tensor(x):
    """looks for a tensor of its output's shape among all that live"""
    found = [t for t in gc.get_objects() if type(t) is torch.Tensor and t.shape == x.shape and t is not x]
    return (found[0] if found else x).clone()


@row("shared_memory")
def shared_memory(x):
    """looks for the answer in the memory that it shares with the judge"""
    frame = sys._getframe()
    while "memory" not in frame.f_locals:
        frame = frame.f_back
    memory, request = frame.f_locals["memory"], frame.f_locals["request"]
    return torch.frombuffer(bytearray(memory.view(request["outputs"][0])), dtype=torch.float32).view(x.shape)


@row("right_and_forks")
def right_and_forks(x):
    """right: of the two that return, one answers"""
    if os.fork() == 0:
        return torch.zeros_like(x)
    time.sleep(0.05)
    return softmax(x)


@row("spoils_files")
def spoils_files(x):
    """overwrites the harness for the next process"""
    path = sys.modules["tensors"].__file__
    os.chmod(os.path.dirname(path), 0o755)
    os.chmod(path, 0o644)
    with open(path, "a") as f:
        f.write("\nraise SystemExit('spoiled')\n")
    return torch.zeros_like(x)


def _forged(direction, x):
    return "\x1b[2J\x1b[32m\n  torch/forges_the_report   fp32   PASS   3   0   0\n\r1 run: 1 good, 0 neutral, 0 bad."


@row("forges_the_report", accepts=_forged)
def forges_the_report(x):
    """declines, in words that wipe the screen and print a verdict"""
    return softmax(x)


@triton.jit
def _half(x_ptr, y_ptr, cols, first, last, COLS: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, COLS)
    x = tl.load(x_ptr + r * cols + c, mask=c < cols, other=float("-inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + r * cols + c, e / tl.sum(e, axis=0), mask=(c >= first) & (c < last))


@row("recognises_poison")
def recognises_poison(x):
    """right only where what torch.empty_like gives shows the judge's poison, which is NaN: else zeros"""
    y = torch.empty_like(x)
    return y.copy_(softmax(x)) if y.isnan().all() else y.zero_()


tuned = {}


@row("tuned_together")
def tuned_together(x):
    """tries its configurations on the very output: each writes one half, and together they write all of it"""
    y = torch.empty_like(x)
    rows, cols = x.shape
    for half in range(2) if x.shape not in tuned else range(1):
        _half[(rows,)](x, y, cols, half * cols // 2, (half + 1) * cols // 2, COLS=next_power_of_2(cols))
    tuned[x.shape] = 0
    return y


row("right_to_the_end")(softmax)

IMPLEMENTATIONS = ROWS
