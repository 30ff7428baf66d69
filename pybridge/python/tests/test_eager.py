"""The eager paths into the C ABI, in Python and in C++, proven on a CPU by a library of plain loops
(stub_kernels.cpp)."""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

import triad

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

from triad.torch import cuda, extension, implementations, operators, ops

HERE = Path(__file__).resolve().parent
CUSTOM = [n for n in ("softmax", "layernorm")]


def setUpModule():
    global folder, path, patched
    if shutil.which("g++") is None:
        raise unittest.SkipTest("no g++")
    folder = tempfile.TemporaryDirectory()
    os.environ["XDG_DATA_HOME"] = folder.name
    path = Path(folder.name) / "stub.so"
    subprocess.run(["g++", "-std=c++17", "-O1", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror",
                    f"-I{extension.header()}", HERE / "stub_kernels.cpp", "-o", path], check=True)
    patched = mock.patch.object(implementations.worker, "rows", rows)
    patched.start()


def tearDownModule():
    patched.stop()
    folder.cleanup()


def rows(op, family, attributes):
    """The stub's variants instead of a worker's."""
    import json
    spec = getattr(ops, op)._spec
    names = {p["pass"]: [t["name"] for t in p["outputs"]] for p in spec["passes"]}
    return {name: row for name, row in cuda.variants(path, json.loads(attributes), names).items()
            if row._kernels[0].contents.op.decode() == op}


def served(name, described, look=None):
    """An operator of one tensor whose calls are all settled so."""
    LIBRARY.define(f"{name}(Tensor x) -> Tensor")
    extension.load().serve(f"triad_test::{name}", 1, lambda x: (described, look), lambda x: x, None)
    return getattr(torch.ops.triad_test, name).default


LIBRARY = torch.library.Library("triad_test", "FRAGMENT")


def draw(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Paths:
    """What holds in either path; `fast` says in which."""

    fast: bool

    def setUp(self):
        self.extension = mock.patch.object(extension, "loaded", extension.load() if self.fast else None)
        self.extension.start()
        for name in CUSTOM:  # nothing is remembered from another test
            getattr(ops, name)._plans.clear()
            getattr(ops, name)._number = None

    def tearDown(self):
        self.extension.stop()

    def same(self, ours, theirs, inputs, calls=3):
        """Values and gradients, several times: the first call settles what the next ones repeat."""
        for _ in range(calls):
            a = [t.detach().clone().requires_grad_(t.requires_grad) for t in inputs]
            b = [t.detach().clone().requires_grad_(t.requires_grad) for t in inputs]
            y, want = ours(*a), theirs(*b)
            torch.testing.assert_close(y, want, rtol=3e-5, atol=3e-5)
            self.assertEqual(y.requires_grad, want.requires_grad)
            if want.requires_grad:
                weight = torch.cos(torch.arange(want.numel(), dtype=torch.float32)).reshape(want.shape)
                (y * weight).sum().backward()
                (want * weight).sum().backward()
                for got, expected in zip(a, b):
                    self.assertEqual(got.grad is None, expected.grad is None)
                    if got.grad is not None:
                        torch.testing.assert_close(got.grad, expected.grad, rtol=3e-5, atol=3e-5)

    def test_the_path_is_taken(self):
        x = draw(3, 5)
        with mock.patch.object(ops.softmax.__class__, "_any", side_effect=AssertionError("the long way")):
            with self.assertRaises(AssertionError):
                ops.softmax(x, impl="cuda/stub")
        for _ in range(3):
            ops.softmax(x, impl="cuda/stub")
        with mock.patch.object(ops.softmax.__class__, "_any", side_effect=AssertionError("the long way")):
            ops.softmax(x, impl="cuda/stub")
            if self.fast:
                with mock.patch.object(operators, "plain",
                                       side_effect=AssertionError("the way through Python")):
                    ops.softmax(x, impl="cuda/stub")

    def test_values_and_gradients(self):
        for variant in ("stub", "packed"):
            for shape in ((3, 5), (1, 1), (2, 3, 5), (2, 1, 4, 5), (7,), (0, 5), (2, 0, 5)):
                for gradient in (False, True):
                    with self.subTest(variant, shape=shape, gradient=gradient):
                        self.same(lambda x: ops.softmax(x, impl=f"cuda/{variant}"),
                                  lambda x: torch.softmax(x, -1), [draw(*shape).requires_grad_(gradient)])

    def test_saved_tensors_and_some_gradients(self):
        for wanted in ((0, 1, 2), (0,), (1,), (2,), (0, 2), ()):
            for shape in ((4, 6), (2, 3, 6)):
                with self.subTest(wanted=wanted, shape=shape):
                    inputs = [t.requires_grad_(i in wanted) for i,
                              t in enumerate((draw(*shape), draw(6), draw(6, seed=2)))]
                    self.same(lambda x, w, b: ops.layernorm(x, w, b, impl="cuda/loops", eps=1e-3),
                              lambda x, w, b: F.layer_norm(x, (6,), w, b, 1e-3), inputs)

    def test_strides(self):
        base = draw(2, 3, 4, 10, seed=3)
        for name, x in {"sliced": base[..., :5], "every other": base[..., ::2],
                        "turned": base.transpose(1, 2), "last turned": base.transpose(2, 3),
                        "expanded": base[:1].expand(2, 3, 4, 10), "expanded within": base[:, :, :1].expand(2,
                            3, 4, 10), "one row": base[0, 0, 0].expand(2, 3, 10),
                        "rows expanded": base[0, 0, 0, :1].expand(2, 3, 10)}.items():
            for variant in ("stub", "packed"):
                with self.subTest(name, variant=variant):
                    for _ in range(3):
                        torch.testing.assert_close(ops.softmax(x, impl=f"cuda/{variant}"),
                                                   torch.softmax(x, -1), rtol=3e-5, atol=3e-5)

    def test_strides_that_change(self):
        """The second call has the sizes of the first, and other strides."""
        x = draw(5, 5)
        for turned in (x, x.T, x, x.T):
            torch.testing.assert_close(ops.softmax(turned, impl="cuda/stub"), torch.softmax(turned, -1),
                                       rtol=3e-5, atol=3e-5)

    def test_parameters_and_no_grad(self):
        p = torch.nn.Parameter(draw(3, 4))
        for _ in range(3):
            self.assertTrue(ops.softmax(p, impl="cuda/stub").requires_grad)
            with torch.no_grad():
                self.assertFalse(ops.softmax(p, impl="cuda/stub").requires_grad)
            with torch.inference_mode():
                self.assertTrue(ops.softmax(p, impl="cuda/stub").is_inference())

    def test_version_counter(self):
        """What is saved and changed in place afterwards is found out."""
        for _ in range(3):
            x = draw(3, 4).requires_grad_()
            w = draw(4)
            y = ops.layernorm(x * 1, w, draw(4), impl="cuda/loops")
            w.add_(1)
            with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                y.sum().backward()

    def test_twice(self):
        for _ in range(3):
            x = draw(3, 4).requires_grad_()
            y = ops.softmax(x, impl="cuda/stub")
            y.sum().backward()
            with self.assertRaisesRegex(RuntimeError, "second time"):
                y.sum().backward()
            y = ops.softmax(x, impl="cuda/stub")
            with self.assertRaisesRegex(RuntimeError, "derivative|differentiate"):
                torch.autograd.grad(torch.autograd.grad(y[0, 0], x, create_graph=True)[0].sum(), x)

    def test_what_is_not_plain_goes_the_long_way(self):
        from torch._subclasses import FakeTensorMode
        x = draw(3, 4)
        for _ in range(3):
            ops.softmax(x, impl="cuda/stub")
        with FakeTensorMode() as mode:
            self.assertEqual(type(ops.softmax(mode.from_tensor(x), impl="cuda/stub")).__name__, "FakeTensor")
        compiled = torch.compile(lambda t: ops.softmax(t, impl="cuda/stub") + 1, fullgraph=True,
                                 backend="aot_eager")
        torch.testing.assert_close(compiled(x), torch.softmax(x, -1) + 1)
        graph = torch.fx.experimental.proxy_tensor.make_fx(lambda t: ops.softmax(t, impl="cuda/stub"))(x)
        self.assertIn("triad.softmax", graph.code)

        class Named(torch.Tensor):
            pass
        ours = ops.softmax(x.as_subclass(Named), impl="cuda/stub")
        torch.testing.assert_close(torch.Tensor(ours), torch.softmax(x, -1))

    def test_modes_and_transforms_see_the_call(self):
        """Also where a call on the same tensors is settled: whatever stands between it and its kernel finds
        the operator."""
        from torch.autograd import forward_ad
        from torch.overrides import TorchFunctionMode
        from torch.utils._python_dispatch import TorchDispatchMode
        seen = []

        class Dispatch(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen.append(str(func))
                return func(*args, **(kwargs or {}))

        class Functions(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append(str(func))
                return func(*args, **(kwargs or {}))
        x, leaf = draw(3, 4), draw(3, 4).requires_grad_()
        want = torch.softmax(x, -1)
        for _ in range(4):
            for t in (x, leaf):
                ops.softmax(t, impl="cuda/stub")
                for mode in (Dispatch(), Functions()):
                    seen.clear()
                    with mode:
                        y = ops.softmax(t, impl="cuda/stub")
                    self.assertTrue(any("triad.softmax" in name for name in seen), f"{mode}: {seen}")
                    torch.testing.assert_close(y.detach(), want, rtol=3e-5, atol=3e-5)
            with forward_ad.dual_level(), self.assertRaisesRegex((RuntimeError, NotImplementedError),
                "forward|jvp"):
                ops.softmax(forward_ad.make_dual(leaf, x), impl="cuda/stub")
            traced = torch.jit.trace(lambda t: ops.softmax(t, impl="cuda/stub"), x, check_trace=False)
            self.assertIn("triad::softmax", str(traced.graph))
            with self.assertRaisesRegex(RuntimeError, "functorch transforms"):
                # torch's own word on operators of torch.library
                torch.func.vjp(lambda t: ops.softmax(t, impl="cuda/stub"), x)

    def test_sizes_that_alternate(self):
        """More of them than are kept at hand, one tensor given twice, and attributes that differ."""
        for _ in range(3):
            for cols in range(1, 20):
                self.same(lambda x: ops.softmax(x, impl="cuda/stub"), lambda x: torch.softmax(x, -1),
                          [draw(3, cols).requires_grad_(cols % 2 == 0)], calls=1)
            x, w = draw(4, 6), draw(6)
            for eps in (1e-3, 1e-1):
                torch.testing.assert_close(ops.layernorm(x, w, w, impl="cuda/loops", eps=eps),
                                           F.layer_norm(x, (6,), w, w, eps), rtol=3e-5, atol=3e-5)

    def test_autocast(self):
        """The stub takes fp32 alone: on a CPU torch's softmax keeps its dtype, and so does ours."""
        x = draw(3, 4).requires_grad_()
        for _ in range(3):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = ops.softmax(x, impl="cuda/stub")
            self.assertEqual(y.dtype, torch.float32)
            y.sum().backward()

    def test_a_tensor_that_outlived_its_transform(self):
        leaked = []
        torch.func.grad(lambda t: (leaked.append(t), t.sum())[1])(draw(3, 4))
        for _ in range(3):
            torch.testing.assert_close(ops.softmax(draw(3, 4), impl="cuda/stub"),
                                       torch.softmax(leaked[0], -1), rtol=3e-5, atol=3e-5)
            torch.testing.assert_close(ops.softmax(leaked[0], impl="cuda/stub"), torch.softmax(leaked[0], -1),
                                       rtol=3e-5, atol=3e-5)

    def test_refusals_have_one_form(self):
        """Operator and implementation, the pass where it is the backward, and why: also where a kernel is
        found not to take a call when it is made."""
        turned = draw(5, 3).T
        for _ in range(3):
            for sentence, call in (
                ("softmax/cuda/narrow: cols 5 is above 4",
                 lambda: ops.softmax(draw(3, 5), impl="cuda/narrow")),
                ("softmax/cuda/forward_only: it has no backward in fp32",
                 lambda: torch.ops.triad.softmax_backward(turned, turned, "cuda/forward_only")),
                ("softmax/cuda/late: the call is not supported",
                 lambda: ops.softmax(turned, impl="cuda/late")),
                ("softmax/cuda/narrow_back backward: cols 5 is above 4",
                 lambda: ops.softmax(draw(3, 5).requires_grad_(), impl="cuda/narrow_back").sum().backward()),
            ):
                with self.subTest(sentence), self.assertRaises(triad.UsageError) as caught:
                    call()
                self.assertEqual(str(caught.exception), sentence)

    def test_errors(self):
        x = draw(3, 5)
        for _ in range(3):
            with self.assertRaisesRegex(triad.UsageError, "softmax/cuda/narrow: cols 5 is above 4"):
                ops.softmax(x, impl="cuda/narrow")
            ops.softmax(x[:, :4], impl="cuda/narrow")
            with self.assertRaisesRegex(triad.TriadError, "softmax/cuda/broken: the launch ended with CUDA "
                                                          "error 700"):
                ops.softmax(x, impl="cuda/broken")
            with self.assertRaisesRegex(triad.UsageError, "dtype fp64"):
                ops.softmax(x.double(), impl="cuda/stub")
            with self.assertRaisesRegex(triad.UsageError, "weight has shape"):
                ops.layernorm(x, draw(4), draw(5), impl="cuda/loops")
            with self.assertRaisesRegex(triad.UsageError, "unknown or repeated argument"):
                ops.softmax(x, impl="cuda/stub", axis=1)

    def test_threads(self):
        failures = []

        def work(seed):
            try:
                x = draw(4, 3 + seed, seed=seed).requires_grad_()
                for _ in range(200):
                    y = ops.softmax(x, impl="cuda/stub")
                    torch.autograd.grad((y * y).sum(), x)
                    if not torch.allclose(y.detach(), torch.softmax(x.detach(), -1), rtol=1e-4, atol=1e-5):
                        raise AssertionError("another thread's values")
            except BaseException as e:
                failures.append(e)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])

    def test_memory(self):
        """10,000 calls and their backwards leave nothing behind, and another 10,000 of as many sizes are not
        all kept."""
        x = draw(4, 16).requires_grad_()

        def step():
            ops.softmax(x, impl="cuda/stub").backward(x.detach())
            x.grad = None
        for _ in range(500):
            step()
        before = resident()
        for _ in range(10_000):
            step()
        self.assertLess(resident() - before, 8 << 20)


class InPython(Paths, unittest.TestCase):
    fast = False


    def test_without_what_torch_does_not_document(self):
        """A torch that has neither its guards nor its allocator by these names: calls go by key."""
        from triad.torch import direct
        with mock.patch.object(direct, "_Guards", None), mock.patch.object(cuda, "_empty_strided", {}):
            self.test_values_and_gradients()
            self.assertEqual(ops.softmax._plans.recent, {})

    def test_asked_again_where_a_tensor_begins_elsewhere(self):
        """A kernel that took a call is asked again only where its answer may be another."""
        base = draw(3 * 4 + 1)
        ops.softmax(base[:12].view(3, 4), impl="cuda/narrow")
        plan = next(iter(ops.softmax._plans.values()))
        asked, accepts = [], plan.forward.launch._accepts
        plan.forward.launch._accepts = lambda *a: (asked.append(a), accepts(*a))[1]
        for x, count in ((draw(3, 4), 0), (base[1:].view(3, 4), 1), (draw(3, 4), 0), (draw(4, 3).T, 1),
                         (draw(4, 3).T, 0), (draw(3, 4), 1)):
            asked.clear()
            torch.testing.assert_close(ops.softmax(x, impl="cuda/narrow"), torch.softmax(x, -1),
                                       rtol=3e-5, atol=3e-5)
            self.assertEqual(len(asked), count)


class InCpp(Paths, unittest.TestCase):
    fast = True

    def test_what_the_dispatcher_runs_is_launched_so_too(self):
        """Compiled code calls the operators by torch.ops."""
        x, g = draw(3, 5), draw(3, 5, seed=2)
        for impl in ("cuda/stub", "cuda/packed"):
            with torch.profiler.profile() as found:
                y = torch.ops.triad.softmax(x, impl)
                grad = torch.ops.triad.softmax_backward(y.T.contiguous().T, g, impl)
            torch.testing.assert_close(y, torch.softmax(x, -1))
            torch.testing.assert_close(grad, y * (g - (g * y).sum(-1, keepdim=True)))
            names = {e.name for e in found.events()}
            for name in (f"softmax/{impl}", f"softmax/{impl} backward"):
                self.assertIn(name, names)
            seen = set()
            sys.setprofile(lambda frame, event, argument: seen.add(frame.f_code.co_filename))
            try:
                torch.ops.triad.softmax.default(x, impl)
                torch.ops.triad.softmax_backward.default(y, g, impl)
            finally:
                sys.setprofile(None)
            self.assertEqual({name for name in seen if not name.endswith(("torch/_ops.py", __file__))}, set())

    def test_rules_of_what_the_dispatcher_runs(self):
        """What torch asks of a custom operator; gradients which torch's own kernel for autograd gives."""
        leaf = draw(3, 5).requires_grad_()
        layer = (draw(4, 6).requires_grad_(), draw(6).requires_grad_(), draw(6).requires_grad_())
        for op, inputs in ((torch.ops.triad.softmax.default, (leaf, "cuda/stub")),
                           (torch.ops.triad.layernorm.default, (*layer, 1e-5, "cuda/loops"))):
            with torch.no_grad():
                op(*inputs)
            self.assertTrue(torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "CPU"))
            torch.library.opcheck(op, inputs)
        self.same(lambda x: torch.ops.triad.softmax(x, "cuda/stub"), lambda x: torch.softmax(x, -1), [leaf])
        self.same(lambda *t: torch.ops.triad.layernorm(*t, 1e-3, "cuda/loops")[0],
                  lambda x, w, b: F.layer_norm(x, (6,), w, b, 1e-3), layer)
        with self.assertRaisesRegex(RuntimeError, "has no derivative"):
            y = torch.ops.triad.softmax(leaf, "cuda/stub")
            (first,) = torch.autograd.grad(y[0, 0], leaf, create_graph=True)
            torch.autograd.grad(first.sum(), leaf)
        with self.assertRaisesRegex(RuntimeError, "functorch transforms"):
            torch.func.vjp(lambda t: torch.ops.triad.softmax(t, "cuda/stub"), leaf)
        compiled = torch.compile(lambda *t: ops.layernorm(*t, impl="cuda/loops"), fullgraph=True,
                                 backend="aot_eager")
        self.same(compiled, lambda x, w, b: F.layer_norm(x, (6,), w, b), layer)

    def test_refusals_of_what_the_dispatcher_runs(self):
        x = draw(3, 5)
        torch.ops.triad.softmax(x, "cuda/stub")
        for _ in range(3):
            with self.assertRaisesRegex(triad.UsageError, "^softmax/cuda/narrow: cols 5 is above 4"):
                torch.ops.triad.softmax(x, "cuda/narrow")
            with self.assertRaisesRegex(triad.TriadError, "^softmax/cuda/broken: .* CUDA error 700"):
                torch.ops.triad.softmax(x, "cuda/broken")
            with self.assertRaisesRegex(triad.UsageError, "has no implementation 'cuda/none'"):
                torch.ops.triad.softmax(x, "cuda/none")
            torch.testing.assert_close(torch.ops.triad.softmax(torch._neg_view(-x), "cuda/stub"),
                                       torch.softmax(x, -1))

    def test_profiler(self):
        x = draw(3, 4)
        for _ in range(3):
            ops.softmax(x, impl="cuda/stub")
        with torch.profiler.profile() as p:
            ops.softmax(x, impl="cuda/stub")
        self.assertIn("softmax/cuda/stub", {e.key for e in p.key_averages()})


class Building(unittest.TestCase):
    def test_dtypes_have_one_number(self):
        """Where kernels are described in Python, and in C++."""
        kernel = rows(CUSTOM[0], "cuda", "[]")["cuda/numbered"]._kernels[0].contents
        result = ((1,), torch.float32, True, False, 0)
        numbered = served("numbered", (ctypes.addressof(kernel), "numbered", (), ((0, False),), (result,)))
        for dtype, number in cuda._NUMBERS.items():
            self.assertEqual(numbered(torch.empty(1, dtype=dtype)).item(), number, dtype)

    def test_what_is_looked_at_first(self):
        """The data of inputs that say where a kernel reads, before every launch."""
        kernel = rows(CUSTOM[0], "cuda", "[]")["cuda/numbered"]._kernels[0].contents
        result, seen = ((1,), torch.float32, True, False, 0), []

        def look(tensors):
            seen.append(tensors[0].item())
            if tensors[0].item() < 0:
                raise triad.UsageError("below 0")
        looked = served("looked", (ctypes.addressof(kernel), "looked", (), ((0, False),), (result,)), look)
        for value in (1.0, 2.0, 3.0):
            looked(torch.tensor([value]))
        with self.assertRaisesRegex(triad.UsageError, "below 0"):
            looked(torch.tensor([-1.0]))
        self.assertEqual(seen, [1.0, 2.0, 3.0, -1.0])

    def test_built_once_for_every_environment(self):
        """The same package in another folder finds what was built; another source does not."""
        with tempfile.TemporaryDirectory() as folder:
            moved = Path(folder) / "eager.cpp"
            moved.write_text(extension.SOURCE.read_text())
            shutil.copytree(extension.SOURCE.parent / "eager", Path(folder) / "eager")
            shutil.copy(extension.header() / "abi.h", folder)
            here = extension.built()
            with mock.patch.object(extension, "SOURCE", moved), mock.patch.object(extension, "header",
                lambda: Path(folder)):
                self.assertEqual(extension.built(), here)
                for source in (Path(folder) / "eager" / "launch.h", moved):
                    source.write_text("#error another source\n")
                    with self.assertRaisesRegex(triad.Unavailable, "another source"):
                        extension.built()

    def test_no_compiler(self):
        with mock.patch.dict(os.environ, {"PATH": "", "CXX": ""}), self.assertRaisesRegex(triad.Unavailable,
            "no C.. compiler"):
            extension.compiler()

    def test_a_compiler_that_does_not(self):
        with tempfile.TemporaryDirectory() as cache, mock.patch.dict(os.environ,
            {"CXX": shutil.which("false"), "XDG_CACHE_HOME": cache}):
            with self.assertRaisesRegex(triad.Unavailable, "ended with 1"):
                extension.built()
            self.assertEqual([p for p in Path(cache).rglob("*") if p.is_file()], [])


class TwoGPUs(unittest.TestCase):
    def test_rows_on_two_gpus_are_left_out(self):
        found = cuda.variants(path, [], {"forward": ["y"], "backward": ["grad_x"]})
        self.assertIn("cuda/stub", found)
        self.assertNotIn("cuda/pair", found)


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    unittest.main()
