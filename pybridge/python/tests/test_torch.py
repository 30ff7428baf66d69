"""The kernels as PyTorch operators, on a CPU: CUDA kernels in the emulator, Triton's in its interpreter."""

import contextlib
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import triad

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

from triad.torch import operators, ops


def setUpModule():
    global data
    data = tempfile.TemporaryDirectory()
    os.environ["XDG_DATA_HOME"] = data.name


def tearDownModule():
    data.cleanup()


def rotated(x, cos, sin):
    """The halves of the last dim as pairs, x [batch, seq, heads, head_dim]."""
    a, b = x.float().chunk(2, -1)
    c, s = cos[:x.shape[1], None, :], sin[:x.shape[1], None, :]
    return torch.cat((a * c - b * s, b * c + a * s), -1).to(x.dtype)


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def draw(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=GENERATOR).to(dtype)


GENERATOR = torch.Generator().manual_seed(1)


def softmax_inputs(dtype):
    return (draw(5, 33, dtype=dtype),)


def layernorm_inputs(dtype):
    return draw(5, 33, dtype=dtype), draw(33, dtype=dtype), draw(33, dtype=dtype)


def swiglu_inputs(dtype):
    return draw(5, 33, dtype=dtype), draw(5, 33, dtype=dtype)


def rope_inputs(dtype):
    angles = torch.outer(torch.arange(7.0), torch.logspace(0, -2, 8))
    return draw(2, 7, 4, 16, dtype=dtype), draw(2, 7, 2, 16, dtype=dtype), angles.cos(), angles.sin()


def attention_inputs(dtype):
    return draw(1, 4, 9, 16, dtype=dtype), draw(1, 2, 13, 16, dtype=dtype), draw(1, 2, 13, 16, dtype=dtype)


OPERATORS = {
    "softmax": (softmax_inputs, lambda x: torch.softmax(x, -1), (0,)),
    "layernorm": (layernorm_inputs, lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), (0, 1, 2)),
    "swiglu": (swiglu_inputs, lambda g, u: F.silu(g) * u, (0, 1)),
    "rope": (rope_inputs, lambda q, k, c, s: (rotated(q, c, s), rotated(k, c, s)), (0, 1)),
    "flash_attention": (attention_inputs, attention, (0, 1, 2)),
}
FAMILIES = (None, "triton", "cuda")


def several(value):
    return value if isinstance(value, tuple) else (value,)


def gradients(function, inputs, differentiable):
    leaves = [x.detach().clone().requires_grad_(i in differentiable) for i, x in enumerate(inputs)]
    outputs = several(function(*leaves))
    weights = [torch.cos(torch.arange(o.numel())).reshape(o.shape) for o in outputs]
    sum((o.float() * w).sum() for o, w in zip(outputs, weights)).backward()
    return [o.detach() for o in outputs], [leaves[i].grad for i in differentiable]


class Agreement(unittest.TestCase):
    """Values and gradients of every operator against torch's own, in every family of implementations."""

    def close(self, got, want, tolerance):
        for g, w in zip(got, want, strict=True):
            self.assertEqual((g.dtype, g.shape), (w.dtype, w.shape))
            torch.testing.assert_close(g.float(), w.float(), rtol=tolerance, atol=tolerance)

    def test_fp32(self):
        for name, (inputs, reference, differentiable) in OPERATORS.items():
            tensors = inputs(torch.float32)
            want = gradients(reference, tensors, differentiable)
            for family in FAMILIES:
                with self.subTest(name, family=family):
                    got = gradients(lambda *t: getattr(ops, name)(*t, impl=family), tensors, differentiable)
                    self.close(got[0] + got[1], want[0] + want[1], 3e-5)

    def test_bf16(self):
        for name, (inputs, reference, differentiable) in OPERATORS.items():
            tensors = inputs(torch.bfloat16)
            want = gradients(reference, [t.float() for t in tensors], differentiable)
            for family in ("triton", "cuda"):
                with self.subTest(name, family=family):
                    outputs, grads = gradients(lambda *t: getattr(ops, name)(*t, impl=family), tensors,
                                               differentiable)
                    self.assertEqual({t.dtype for t in outputs + grads}, {torch.bfloat16})
                    self.close([t.float() for t in outputs + grads], want[0] + want[1], 3e-2)

    def test_not_contiguous(self):
        for name, (inputs, reference, differentiable) in OPERATORS.items():
            for family in FAMILIES:
                with self.subTest(name, family=family):
                    tensors = inputs(torch.float32)
                    apart = [torch.stack((t, t), -1)[..., 0] for t in tensors]
                    turned = [t.transpose(-1, -2).contiguous().transpose(-1, -2) if t.dim() > 1 else t
                              for t in tensors]
                    for strided in (apart, turned):
                        self.close(several(getattr(ops, name)(*strided, impl=family)),
                                   several(reference(*tensors)), 3e-5)

    def test_some_gradients_only(self):
        for name, (inputs, reference, differentiable) in OPERATORS.items():
            tensors = inputs(torch.float32)
            for one in differentiable:
                with self.subTest(name, one=one):
                    got = gradients(getattr(ops, name), tensors, (one,))
                    self.close(got[1], gradients(reference, tensors, (one,))[1], 3e-5)

    def test_any_rank_of_rows(self):
        x = draw(2, 3, 4, 33).requires_grad_()
        y = ops.softmax(x)
        self.assertEqual(y.shape, x.shape)
        y.sum().backward()
        self.assertEqual(x.grad.shape, x.shape)
        self.assertEqual(ops.softmax(draw(7)).shape, (7,))

    def test_attributes(self):
        q, k, v = attention_inputs(torch.float32)
        k, v = k[:, :, :9], v[:, :, :9]
        for family in FAMILIES:
            got = ops.flash_attention(q, k, v, causal=True, scale=0.5, impl=family)
            torch.testing.assert_close(got, F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.5,
                enable_gqa=True), rtol=3e-5, atol=3e-5)

    def test_fp8(self):
        a, b = (draw(17, 32).to(torch.float8_e4m3fn), draw(13, 32).to(torch.float8_e4m3fn))
        scale = torch.tensor([0.5])
        want = (a.float() @ b.float().T) * 0.25
        for family in FAMILIES:
            got = ops.fp8_gemm(a, scale, b, scale, out="fp32", impl=family)
            torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)

    def test_autocast(self):
        x = draw(4, 16, dtype=torch.bfloat16)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.assertEqual(ops.softmax(x).dtype, torch.softmax(x, -1).dtype)
            q, k, v = attention_inputs(torch.float32)
            self.assertEqual(ops.flash_attention(q, k, v).dtype, attention(q, k, v).dtype)


class Choices(unittest.TestCase):
    """Operators whose outputs a kernel chooses, without a backward."""

    def test_values_and_indices(self):
        for dtype in (torch.float32, torch.bfloat16):
            x = draw(3, 5, 33, dtype=dtype)
            for family in FAMILIES:
                with self.subTest(family=family, dtype=dtype):
                    values, indices = ops.top_k(x, k=5, impl=family)
                    self.assertTrue(torch.equal(values, torch.topk(x, 5).values))
                    self.assertEqual(indices.dtype, torch.int32)
                    self.assertTrue(torch.equal(torch.gather(x, -1, indices.long()), values))

    def test_compile(self):
        compiled = torch.compile(lambda x: ops.top_k(x, k=3), fullgraph=True, backend="aot_eager")
        x = draw(4, 9)
        self.assertTrue(torch.equal(compiled(x)[0], torch.topk(x, 3).values))

    def test_no_gradient(self):
        with self.assertRaisesRegex(triad.UsageError, "has no backward: call it under torch.no_grad"):
            ops.top_k(draw(2, 9).requires_grad_())
        with torch.no_grad():
            self.assertEqual(ops.top_k(draw(2, 9).requires_grad_())[0].shape, (2, 8))


class Rules(unittest.TestCase):
    """What torch asks of a custom operator."""

    def test_opcheck(self):
        for name, (inputs, _, differentiable) in OPERATORS.items():
            for family in ("torch", "triton", "cuda"):
                impl = ops.__getattribute__(name).choose(family, "cpu", "fp32", None, True)
                with self.subTest(name, impl=impl):
                    tensors = [t.requires_grad_(i in differentiable) for i,
                               t in enumerate(inputs(torch.float32))]
                    attributes = {"layernorm": (1e-5,), "rope": (False, 0),
                                  "flash_attention": (False, None)}.get(name, ())
                    torch.library.opcheck(getattr(torch.ops.triad, name).default,
                                          (*tensors, *attributes, impl))

    def test_compile(self):
        for name, (inputs, reference, differentiable) in OPERATORS.items():
            for family in (None, "cuda"):
                with self.subTest(name, family=family):
                    tensors = inputs(torch.float32)
                    torch._dynamo.reset()
                    compiled = torch.compile(lambda *t: several(getattr(ops, name)(*t, impl=family)),
                                             fullgraph=True, backend="aot_eager")
                    got, want = gradients(compiled, tensors, differentiable), gradients(reference, tensors,
                        differentiable)
                    for g, w in zip(got[0] + got[1], want[0] + want[1], strict=True):
                        torch.testing.assert_close(g, w, rtol=3e-5, atol=3e-5)

    def test_the_choice_knows_the_sizes(self):
        """Compiled and exported as in eager mode, so that the implementation is the same; sizes that are not
        settled are any."""
        asked = []

        def choose(function, *arguments):
            asked.append(arguments[3])
            return plainly(function, *arguments)
        plainly = ops.softmax.__class__.choose
        with mock.patch.object(ops.softmax.__class__, "choose", choose):
            for static in (True, False):
                operators._choices.clear()
                torch._dynamo.reset()
                asked.clear()
                x = draw(6, 10)
                got = torch.compile(lambda t: ops.softmax(t), fullgraph=True, backend="aot_eager",
                                    dynamic=not static)(x)
                torch.testing.assert_close(got, torch.softmax(x, -1))
                self.assertEqual(asked, [(("rows", 6), ("cols", 10)) if static else None])
        operators._choices.clear()

        class Attention(torch.nn.Module):
            def forward(self, q, k, v):
                return ops.flash_attention(q, k, v)
        exported = torch.export.export(Attention(), attention_inputs(torch.bfloat16), strict=False)
        self.assertIn("triad.flash_attention", exported.graph_module.code)

    def test_fake(self):
        from torch._subclasses import FakeTensorMode
        with FakeTensorMode():
            y = ops.layernorm(torch.empty(3, 8, dtype=torch.bfloat16), torch.empty(8, dtype=torch.bfloat16),
                              torch.empty(8, dtype=torch.bfloat16), impl="torch/eager")
        self.assertEqual((y.shape, y.dtype), ((3, 8), torch.bfloat16))


class BadInput(unittest.TestCase):
    def test_fp8_gradients(self):
        """fp8_gemm says where its gradients come from, and gives them."""
        a, b, scale = draw(4, 16).to(torch.float8_e4m3fn), draw(8,
            16).to(torch.float8_e4m3fn), torch.tensor([0.5])
        for family in (None, "cuda"):
            with self.assertRaisesRegex(triad.UsageError, "fp8_gemm has no gradient of its own: .* "
                                                          "fp8_gemm.backward"):
                ops.fp8_gemm(a, scale.clone().requires_grad_(), b, scale, impl=family)
        g = draw(4, 8)
        e4, e5 = torch.float8_e4m3fn, torch.float8_e5m2
        operands = (g.to(e5), scale, b.float().T.contiguous().to(e4), scale, g.T.contiguous().to(e5), scale,
                    a.float().T.contiguous().to(e4), scale)
        for impl in ("torch/dequant", ops.fp8_gemm.implementations()[0]):
            grad_a, grad_b = ops.fp8_gemm.backward(*operands, impl=impl, out="fp32")
            torch.testing.assert_close(grad_a, g.to(e5).float() @ b.float() / 4, rtol=1e-3, atol=1e-3)
            torch.testing.assert_close(grad_b, g.to(e5).float().T @ a.float() / 4, rtol=1e-3, atol=1e-3)
        with self.assertRaisesRegex(triad.UsageError, "fp8_gemm.backward: want the tensors g, scale_g"):
            ops.fp8_gemm.backward(g, impl="torch/dequant")

    def test_gradients_of_gradients(self):
        """They are refused, not wrong: by the dispatcher's way too."""
        x = draw(3, 4).requires_grad_()
        for y in (ops.softmax(x), torch.ops.triad.softmax(x, "torch/eager")):
            with self.assertRaisesRegex(RuntimeError, "has no derivative"):
                (first,) = torch.autograd.grad(y[0, 0], x, create_graph=True)
                torch.autograd.grad(first.sum(), x)

    def test_sentences(self):
        x = draw(4, 8)
        for words, call in (
            ("unknown operator 'sofmax'", lambda: ops.sofmax(x)),
            ("softmax has no implementation 'cuda/nope'", lambda: ops.softmax(x, impl="cuda/nope")),
            ("softmax has no implementation 'metal'", lambda: ops.softmax(x, impl="metal")),
            ("softmax: x is a list", lambda: ops.softmax([1.0])),
            ("softmax: 2 tensors", lambda: ops.softmax(x, x)),
            ("unknown or repeated argument 'axis'", lambda: ops.softmax(x, axis=0)),
            ("dtype fp64", lambda: ops.softmax(x.double())),
            ("dtype int64", lambda: ops.softmax(x.long())),
            ("weight has shape [7]", lambda: ops.layernorm(x, draw(7), draw(8))),
            ("weight is torch.bfloat16", lambda: ops.layernorm(x, draw(8, dtype=torch.bfloat16), draw(8))),
            ("cols 9 is not a multiple of", lambda: ops.softmax(draw(2, 9), impl="cuda/vec")),
            ("want one on a CPU or a CUDA device", lambda: ops.softmax(x.to("meta"))),
            ("weight is on meta, x on cpu", lambda: ops.layernorm(x, torch.empty(8, device="meta"), draw(8))),
            ("x is torch.sparse_coo: want a dense tensor", lambda: ops.softmax(x.to_sparse())),
            ("softmax: impl is 3", lambda: ops.softmax(x, impl=3)),
            ("eps is 'a': want a number above 0", lambda: ops.layernorm(x, draw(8), draw(8), eps="a")),
            ("eps is -1.0: want a number above 0", lambda: ops.layernorm(x, draw(8), draw(8), eps=-1.0)),
            ("causal is 'yes': want True or False",
             lambda: ops.flash_attention(*attention_inputs(torch.float32), causal="yes")),
            ("heads_q is 4, heads_kv is 3", lambda: ops.flash_attention(draw(1, 4, 9, 16), draw(1, 3, 9, 16),
                draw(1, 3, 9, 16))),
            ("offset + seq <= max_pos", lambda: ops.rope(*rope_inputs(torch.float32), offset=1)),
            ("want low <= high: low is 2.0, high is 1.0", lambda: ops.hardtanh(x[0], low=2.0)),
            ("offset >= 0", lambda: ops.rope(*rope_inputs(torch.float32), offset=-1)),
            ("offset is 0.5: want an integer", lambda: ops.rope(*rope_inputs(torch.float32), offset=0.5)),
            ("out is 'fp8': want 'bf16' or", lambda: ops.fp8_gemm(x.to(torch.float8_e4m3fn), draw(1),
                x.to(torch.float8_e4m3fn), draw(1), out="fp8")),
        ):
            with self.subTest(words):
                with self.assertRaises((triad.TriadError, AttributeError)) as caught:
                    call()
                self.assertIn(words, str(caught.exception))


class Refusals(unittest.TestCase):
    """What an implementation declines is declined in one form, and as a comparison does: by the same
    question, with UNSUPPORTED."""

    def test_as_the_judge(self):
        for name, impl, dims, tensors in (
            ("softmax", "cuda/vec", {"rows": 2, "cols": 9}, lambda: (draw(2, 9),)),
            ("layernorm", "cuda/vec", {"rows": 2, "cols": 9}, lambda: (draw(2, 9), draw(9), draw(9))),
        ):
            with self.subTest(impl):
                with self.assertRaises(triad.UsageError) as caught:
                    getattr(ops, name)(*tensors(), impl=impl)
                operator, _, why = str(caught.exception).partition(": ")
                self.assertEqual(operator, f"{name}/{impl}")
                with as_the_workers_python():
                    judged = triad.compare(name, impl=impl, dims=dims, dtype="fp32", pass_="forward",
                                           distribution="normal", layout="contiguous")
                self.assertEqual({(r.impl, r.status) for r in judged}, {(impl, "UNSUPPORTED")})
                self.assertIn(why, judged[0].message)

    def test_torchs_reasons(self):
        """Of the reasons that torch gives for all its kernels of attention, a kernel's own are kept."""
        from torch.nn.attention import SDPBackend

        from triad.torch import files
        heads = ("For dense input, both fused kernels require query, key and value to have the same "
                 "num_heads. Query.sizes(): [2, 4], Key sizes(): [2, 2]")
        half = "Expected query, key and value to all be of dtype: {Half, BFloat16}. Got Query dtype: float."
        said = ["Memory efficient kernel not used because: (Triggered internally at a.cpp:986.)",
                f"{heads} (Triggered internally at h:418.)",
                "Flash attention kernel not used because: (Triggered internally at a.cpp:988.)",
                f"{half} (Triggered internally at h:91.)", "Another.",
                "cuDNN attention kernel not used because: (Triggered internally at a.cpp:990.)",
                "cuDNN attention has been runtime disabled. (Triggered internally at a.cpp:706.)"]
        reasons = files.module("flash_attention").library._reasons
        self.assertEqual(reasons(SDPBackend.EFFICIENT_ATTENTION, said), heads)
        self.assertEqual(reasons(SDPBackend.FLASH_ATTENTION, said), half[:-1] + "; Another")
        self.assertEqual(reasons(SDPBackend.CUDNN_ATTENTION, said),
                         "cuDNN attention has been runtime disabled")


@contextlib.contextmanager
def as_the_workers_python():
    """Workers of a comparison run in this interpreter."""
    with mock.patch.dict(os.environ, {"TRIAD_PYTHON": sys.executable}):
        yield


JUDGED = """
import sys
sys.path.insert(0, {path!r})
import torch
from triad.torch import ops


def through(function, inputs, upstream):
    with torch.enable_grad():
        leaves = [x.detach().clone().requires_grad_() for x in inputs]
        out = function(*leaves)
        return torch.autograd.grad(out, leaves, upstream)

def swiglu_backward(gate, up, grad_y):
    return through(lambda *t: ops.swiglu(*t, impl={impl!r}), (gate, up), grad_y)


def rope_backward(cos, sin, grad_q_out, grad_k_out, interleaved, offset):
    zeros = torch.zeros_like(grad_q_out), torch.zeros_like(grad_k_out)
    return through(lambda q, k: ops.rope(q, k, cos, sin, interleaved=interleaved, offset=offset,
                                         impl={impl!r}), zeros, (grad_q_out, grad_k_out))


def flash_attention_backward(q, k, v, o, lse, grad_o, causal, scale):
    return through(lambda *t: ops.flash_attention(*t, causal=causal, scale=scale, impl={impl!r}),
                   (q, k, v), grad_o)


def softmax_backward(y, grad_y):
    return torch.ops.triad.softmax_backward(y, grad_y, "cuda/block")
"""


class Judge(unittest.TestCase):
    """The gradients that autograd gives, judged by triad itself: a file that calls the operators is added
    beside triad's implementations. Not layernorm's: a judged backward starts from mean and rstd that it is
    given, and autograd's from those of its own forward."""

    def test_autograd(self):
        file = data.name + "/through_autograd.py"
        with open(file, "w") as f:
            f.write(JUDGED.format(path=os.path.dirname(os.path.dirname(triad.__file__)), impl="cuda"))
        with as_the_workers_python(), contextlib.ExitStack() as stack:
            runs = {}
            for name in sorted(set(OPERATORS) - {"layernorm"}):
                # beside each other: most of their time is the start of a worker
                saved, db = None if name in ("rope", "swiglu") else "driver", f"{data.name}/{name}.db"
                runs[name] = stack.enter_context(triad.start(name, add=f"{file}:{name}_backward@backward",
                    impl="mine", pass_="backward", quick=True, dtype="fp32",
                                                             distribution="normal", layout="contiguous",
                                                             upstream="normal", saved=saved, db=db))
            for name, run in runs.items():
                with self.subTest(name):
                    found = run.wait()
                    self.assertEqual((found.exit, found.bad, {r.op for r in found}), (0, [], {name}),
                                     str(found))


class Beside(unittest.TestCase):
    def test_torch_and_go_in_threads(self):
        import threading
        failures = []

        def work(seed):
            try:
                random = torch.Generator().manual_seed(seed)
                for _ in range(20):
                    x = torch.randn(8, 64, generator=random)
                    torch.testing.assert_close(ops.softmax(x), torch.softmax(x, -1))
                    triad.case("softmax", dims={"rows": seed + 1, "cols": 64})
            except BaseException as e:
                failures.append(e)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])

    def test_without_the_native_part(self):
        """The operators need no Go: a package for another Python has them."""
        code = ("import sys\nsys.modules['triad._native'] = None\nimport torch, triad\nfrom triad.torch "
                "import ops\n"
                "x = torch.ones(2, 4)\nprint(torch.equal(ops.softmax(x), torch.softmax(x, -1)))\n"
                "try: triad.ops()\nexcept triad.Unavailable as e: print('for another Python' in str(e))")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.stdout.split(), ["True", "True"], done.stderr)

    def test_data_loader_workers(self):
        """In the workers of a DataLoader that are spawned."""
        code = ("import torch, triad\nfrom torch.utils.data import DataLoader, Dataset\n"
                "class Sizes(Dataset):\n def __len__(self): return 4\n"
                " def __getitem__(self, i): return triad.case('softmax', dims={'rows': i + 1, 'cols': "
                "2}).dims['rows']\n"
                "if __name__ == '__main__':\n print(sum(int(b) for b in DataLoader(Sizes(), num_workers=1, "
                "multiprocessing_context='spawn')))\n")
        with tempfile.NamedTemporaryFile("w", suffix=".py") as f:
            f.write(code)
            f.flush()
            done = subprocess.run([sys.executable, f.name], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.stdout.split(), ["10"], done.stderr)

    def test_memory(self):
        """Memory stays flat over calls."""
        x = draw(2, 8)
        for _ in range(200):
            ops.softmax(x)
        before = resident()
        for _ in range(5000):
            ops.softmax(x)
        self.assertLess(resident() - before, 32 << 20)


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    unittest.main()
