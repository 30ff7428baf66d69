"""The operators on a GPU: skipped where there is none. `python -m unittest test_gpu` with the package on the
path; needs no network and no Go."""

import ctypes
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import triad

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

from triad.torch import extension, model, ops
from triad.torch.model import _rotated

DEVICE = "cuda"


def draw(*shape, dtype=torch.float32, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, dtype)


def angles(seq, half):
    a = torch.outer(torch.arange(float(seq)), torch.logspace(0, -2, half)).to(DEVICE)
    return a.cos(), a.sin()


OPERATORS = {
    "softmax": (lambda t: (draw(64, 512, dtype=t),), lambda x: torch.softmax(x, -1), (0,)),
    "layernorm": (lambda t: (draw(64, 512, dtype=t), draw(512, dtype=t), draw(512, dtype=t, seed=2)),
                  lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), (0, 1, 2)),
    "swiglu": (lambda t: (draw(64, 512, dtype=t), draw(64, 512, dtype=t, seed=2)), lambda g, u: F.silu(g) * u,
               (0, 1)),
    "rope": (lambda t: (draw(2, 33, 4, 64, dtype=t), draw(2, 33, 2, 64, dtype=t), *angles(33, 32)),
             lambda q, k, c, s: (_rotated(q, c, s), _rotated(k, c, s)), (0, 1)),
    "flash_attention": (lambda t: (draw(2, 4, 96, 64, dtype=t), draw(2, 2, 96, 64, dtype=t),
                                   draw(2, 2, 96, 64, dtype=t, seed=2)),
                        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), (0, 1, 2)),
}


DIMS = {"softmax": {"rows": 64, "cols": 512}, "layernorm": {"rows": 64, "cols": 512},
        "swiglu": {"rows": 64, "cols": 512},
        "rope": {"batch": 2, "seq": 33, "heads_q": 4, "heads_k": 2, "head_dim": 64, "max_pos": 33},
        "flash_attention": {"batch": 2, "heads_q": 4, "heads_kv": 2, "seq_q": 96, "seq_kv": 96,
                            "head_dim": 64}}


def several(value):
    return value if isinstance(value, tuple) else (value,)


def gradients(function, inputs, differentiable):
    leaves = [x.detach().clone(memory_format=torch.preserve_format).requires_grad_(i in differentiable) for i,
              x in enumerate(inputs)]
    outputs = several(function(*leaves))
    followed = [o for o in outputs if o.requires_grad]  # rope's k_out does not depend on q
    torch.autograd.backward(followed,
                            [torch.cos(torch.arange(o.numel(), device=DEVICE)).reshape(o.shape).to(o.dtype)
                             for o in followed])
    return [o.detach() for o in outputs] + [leaves[i].grad for i in differentiable]


def setUpModule():
    if not torch.cuda.is_available():
        raise unittest.SkipTest("torch sees no GPU")
    global DATA
    DATA = tempfile.TemporaryDirectory()
    os.environ["XDG_DATA_HOME"] = DATA.name  # no database chooses
    os.environ["TRIAD_PYTHON"] = sys.executable  # for the comparisons
    try:
        extension.load()
        print("the C++ part:", extension.built())
    except triad.Unavailable as e:
        print("without the C++ part:", e)


def tearDownModule():
    DATA.cleanup()


class Gate:
    """Holds a stream until it is left: the GPU polls a word in host memory. It opens by itself after 20 s, so
    that a call which waits for the stream comes back. Where the driver has no such wait, two seconds of a
    kernel that spins stand for it."""

    SECONDS = 20.0

    def __init__(self, stream):
        self._stream, self._word = stream, torch.zeros(1, dtype=torch.int32).pin_memory()
        self._timer = threading.Timer(self.SECONDS, self._word.fill_, (1,))

    def __enter__(self):
        driver = ctypes.CDLL("libcuda.so.1")
        wait = getattr(driver, "cuStreamWaitValue32_v2", None)
        code = -1
        if wait is not None:
            wait.argtypes = (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint)
            code = wait(self._stream.cuda_stream, self._word.data_ptr(), 1, 0)  # until it is at least 1
        self.kind = "held by cuStreamWaitValue32"
        if code:
            self.kind = f"held by a spinning kernel: cuStreamWaitValue32 gave {code}"
            with torch.cuda.stream(self._stream):
                torch.cuda._sleep(4_000_000_000)
        self._timer.start()
        return self

    def shut(self):
        """Says whether the stream is still held."""
        return not self._stream.query() and self._word.item() == 0

    def waits_for(self, event):
        """Waits for an event while the gate is shut, and says whether it came."""
        while self.shut() and not event.query():
            time.sleep(0.001)
        return event.query()

    def __exit__(self, *_):
        self._timer.cancel()
        self._word.fill_(1)


class Both:
    """What holds in Python and in C++."""

    fast: bool

    def setUp(self):
        if self.fast and extension.loaded is None:
            self.skipTest("no C++ part")
        self.patched = mock.patch.object(extension, "loaded", extension.loaded if self.fast else None)
        self.patched.start()
        for name in OPERATORS:
            getattr(ops, name)._plans.clear()
            getattr(ops, name)._number = None

    def tearDown(self):
        self.patched.stop()

    def close(self, got, want, dtype):
        # whether it is the right thing at all: the judge is stricter
        tolerance = {torch.float32: 2e-3, torch.bfloat16: 6e-2}[dtype]
        for g, w in zip(got, want, strict=True):
            self.assertEqual((g.dtype, g.shape), (w.dtype, w.shape))
            self.assertLess(((g.double() - w.double()).norm() / w.double().norm().clamp_min(1e-9)).item(),
                            tolerance)

    def test_every_variant(self):
        for name, (inputs, reference, differentiable) in OPERATORS.items():
            operator = getattr(ops, name)
            for impl in operator.implementations(device=DEVICE):
                for dtype in (torch.float32, torch.bfloat16):
                    with self.subTest(impl, op=name, dtype=dtype):
                        row = operator._implementations.named(impl, torch.device(DEVICE))
                        word = {torch.float32: "fp32"}.get(dtype, "bf16")
                        if impl.endswith("compile") or not row.outputs("forward", word):
                            continue
                        tensors = inputs(dtype)
                        want = gradients(reference, tensors, differentiable)
                        try:
                            for _ in range(3):
                                self.close(gradients(lambda *t: operator(*t, impl=impl), tensors,
                                                     differentiable), want, dtype)
                        except triad.UsageError as e:
                            self.refused(name, impl, dtype, str(e))

    def refused(self, name, impl, dtype, sentence):
        """A refusal names the implementation, and a comparison on the same sizes refuses it too: the pass
        that the sentence speaks of is not judged."""
        whom, _, why = sentence.partition(": ")
        label, _, direction = whom.partition(" ")
        self.assertTrue(label.startswith(f"{name}/") and why, sentence)
        follower = label.partition("/")[2]  # the backward may be another implementation's
        self.assertEqual(follower.partition("/")[0], impl.partition("/")[0], sentence)
        print(f"refused: {sentence}")
        judged = triad.compare(name, impl=follower, dims=DIMS[name], dtype={torch.float32: "fp32"}.get(dtype,
            "bf16"), pass_=direction or "forward", device="gpu",
                               distribution="normal", layout="contiguous", upstream="normal", saved=None
                               if name in ("rope", "swiglu") else "driver",
                               no_timing=True, offline=True, db=DATA.name + "/refused.db")
        found = {r.status for r in judged if r.impl == follower}
        if direction or "it has no" not in why:
            self.assertEqual(found, {"UNSUPPORTED"}, f"{sentence}: {[r.message for r in judged]}")

    def test_not_contiguous_and_some_gradients(self):
        for name, (inputs, reference, differentiable) in OPERATORS.items():
            tensors = inputs(torch.float32)
            apart = [torch.stack((t, t), -1)[..., 0] for t in tensors]
            for wanted in ((differentiable[0],), differentiable[-1:]):
                with self.subTest(name, wanted=wanted):
                    for _ in range(2):
                        self.close(gradients(lambda *t: getattr(ops, name)(*t, impl="cuda"), apart, wanted),
                                   gradients(reference, tensors, wanted), torch.float32)

    def test_another_stream(self):
        """The kernel waits for what is before it on the current stream, and for that alone. Everything that
        may wait by itself is done before: copies from the host, first launches, which load modules, and first
        allocations on a stream."""
        fresh, small, x = draw(256, 256), draw(8, 8), torch.zeros(256, 256, device=DEVICE)
        wanted = [torch.softmax(fresh, -1), torch.softmax(small, -1)]
        side = torch.cuda.Stream()
        for stream in (side, torch.cuda.default_stream()):
            with torch.cuda.stream(stream):
                for t in (x, small):
                    for _ in range(3):
                        ops.softmax(t, impl="cuda/block")
                x.copy_(x.clone())
        torch.cuda.synchronize()
        with Gate(side) as gate:
            with torch.cuda.stream(side):
                x.copy_(fresh)
                y = ops.softmax(x, impl="cuda/block")
            asked = gate.shut()
            other = ops.softmax(small, impl="cuda/block")
            ended = torch.cuda.Event()
            ended.record()
            passed = gate.waits_for(ended)
            after = gate.shut()
        torch.cuda.synchronize()
        how = f"{gate.kind}; other stream {side}, calls on {torch.cuda.current_stream()}"
        self.assertTrue(asked, f"the call on the other stream came back only when its stream was free: it "
                               f"synchronised ({how})")
        self.assertTrue(passed and after, f"the call on the default stream "
                                          f"{'ended' if passed else 'did not end'} while the "
                                          "other stream was "
                        f"{'held' if after else 'free again'}: it waited for the other one ({how})")
        self.close([y, other], wanted, torch.float32)

    def test_graph(self):
        """Forward and backward are captured and replayed with other numbers."""
        for name, (inputs, reference, differentiable) in OPERATORS.items():
            with self.subTest(name):
                tensors = [t.requires_grad_(i in differentiable) for i, t in enumerate(inputs(torch.float32))]
                leaves = [tensors[i] for i in differentiable]

                def work():
                    outputs = several(getattr(ops, name)(*tensors, impl="cuda"))
                    return (*outputs,
                            *torch.autograd.grad(outputs, leaves, [torch.ones_like(o) for o in outputs]))
                side = torch.cuda.Stream()
                with torch.cuda.stream(side):
                    for _ in range(3):
                        work()
                torch.cuda.synchronize()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    captured = work()
                with torch.no_grad():
                    for t in leaves:
                        t.mul_(0.5).add_(0.1)
                graph.replay()
                torch.cuda.synchronize()
                self.close(captured, work(), torch.float32)

    def test_autocast(self):
        for name, (inputs, reference, differentiable) in OPERATORS.items():
            for dtype in (torch.float32, torch.bfloat16):
                with self.subTest(name, dtype=dtype):
                    tensors = inputs(dtype)
                    with torch.autocast(DEVICE, dtype=torch.bfloat16):
                        got = gradients(lambda *t: getattr(ops, name)(*t, impl="cuda"), tensors,
                                        differentiable)
                        want = gradients(reference, tensors, differentiable)
                    self.assertEqual([g.dtype for g in got], [w.dtype for w in want])
                    self.close(got, want, torch.bfloat16)

    def test_memory(self):
        x = draw(64, 512).requires_grad_()

        def call():
            ops.layernorm(x, w, w, impl="cuda").backward(x.detach())
            x.grad = None
        w = draw(512)
        for _ in range(300):
            call()
        torch.cuda.synchronize()
        gpu, host = torch.cuda.memory_allocated(), resident()
        for _ in range(10_000):
            call()
        torch.cuda.synchronize()
        self.assertEqual(torch.cuda.memory_allocated(), gpu)
        self.assertLess(resident() - host, 16 << 20)

    def test_bad_input(self):
        x = draw(4, 8)
        with self.assertRaisesRegex(triad.UsageError, "want one device"):
            ops.layernorm(x, draw(8).cpu(), draw(8))
        with self.assertRaisesRegex(triad.UsageError, "dtype fp64"):
            ops.softmax(x.double(), impl="cuda")
        with self.assertRaisesRegex(triad.UsageError, "has no implementation"):
            ops.softmax(x, impl="cuda/nope")
        with self.assertRaisesRegex(triad.UsageError, "softmax/cuda/vec: "):
            ops.softmax(draw(2, 9), impl="cuda/vec")


class Targets(unittest.TestCase):
    def test_a_wrong_one_stops_the_gpu(self):
        """The GPU looks at targets, and no call waits for it: whoever asks next gets the error."""
        code = ("import torch\nfrom triad.torch import ops\nx = torch.ones(4, 8, device='cuda')\n"
                "def loss(*t):\n"
                " return ops.linear_cross_entropy(x, x, torch.tensor(t, device='cuda'))[0].item()\n"
                "print(loss(3, -100, 0, 2))\n"
                "try: loss(3, 4, 0, 2)\n"
                "except RuntimeError as e: print('stopped')")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.stdout.split()[1:], ["stopped"], done.stderr)
        self.assertIn("linear_cross_entropy: target has a value that is none of 0 to 3, nor -100",
                      done.stderr)


class InPython(Both, unittest.TestCase):
    fast = False


class InCpp(Both, unittest.TestCase):
    fast = True


class Traced(unittest.TestCase):
    def test_compile(self):
        for name, (inputs, reference, differentiable) in OPERATORS.items():
            with self.subTest(name):
                torch._dynamo.reset()
                tensors = inputs(torch.bfloat16)
                compiled = torch.compile(lambda *t: several(getattr(ops, name)(*t, impl="cuda")),
                                         fullgraph=True)
                for g, w in zip(gradients(compiled, tensors, differentiable),
                                gradients(reference, tensors, differentiable), strict=True):
                    self.assertLess(((g.double() - w.double()).norm() / w.double().norm()).item(), 6e-2)

    def test_opcheck(self):
        for name, (inputs, _, differentiable) in OPERATORS.items():
            with self.subTest(name):
                tensors = [t.requires_grad_(i in differentiable) for i, t in enumerate(inputs(torch.float32))]
                impl = getattr(ops, name).choose("cuda", "cuda:0", "fp32", None, True)
                attributes = {"layernorm": (1e-5,), "rope": (False, 0),
                              "flash_attention": (False, None)}.get(name, ())
                torch.library.opcheck(getattr(torch.ops.triad, name).default, (*tensors, *attributes, impl))


class Model(unittest.TestCase):
    def test_losses(self):
        for dtype in (torch.float32, torch.bfloat16):
            for impl in (None, "cuda"):
                with self.subTest(dtype=dtype, impl=impl):
                    a = model.agreement(model.Sizes(), model.Ours(impl), dtype, device=DEVICE)
                    self.assertTrue(a.ok, f"{a}")


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    unittest.main()
