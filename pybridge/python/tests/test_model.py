"""The transformer of triad's operators trains as that of torch's does: no loss is farther from fp64's than
rounding puts it."""

import contextlib
import io
import os
import re
import tempfile
import unittest
from unittest import mock

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

from triad.torch import model, ops


def setUpModule():
    global data, threads
    data = tempfile.TemporaryDirectory()
    os.environ["XDG_DATA_HOME"] = data.name
    threads = torch.get_num_threads()
    torch.set_num_threads(1)


def tearDownModule():
    torch.set_num_threads(threads)
    data.cleanup()


class LooseNorm(model.Ours):
    def norm(self, x, weight, bias):
        return ops.layernorm(x, weight, bias, eps=1e-4, impl=self.impl)


class LosesTheResidual(model.Ours):
    def add_norm(self, x, residual, weight):
        return super().add_norm(x, residual.detach(), weight)


class LooksAhead(model.Ours):
    def attention(self, q, k, v):
        return ops.flash_attention(q, k, v, impl=self.impl)


class Shifted(model.Ours):
    def rope(self, q, k, cos, sin):
        cos, sin = (torch.cat((t, t[-1:])) for t in (cos, sin))
        q, _ = ops.rope(q, k, cos, sin, offset=1, impl=self.impl)
        return q, ops.rope(q, k, cos, sin, impl=self.impl)[1]


class DropsAGradient(model.Ours):
    def swiglu(self, gate, up):
        return ops.swiglu(gate, up.detach(), impl=self.impl)


class Model(unittest.TestCase):
    def test_losses(self):
        for dtype in (torch.float32, torch.bfloat16):
            for impl in (None, "cuda"):
                with self.subTest(dtype=dtype, impl=impl):
                    a = model.agreement(model.Sizes(), model.Ours(impl), dtype)
                    self.assertLess(a.last, 0.1 * a.first, "nothing was learned")
                    self.assertLess(a.allowed, 0.1 * a.first, "anything would be within rounding")
                    self.assertTrue(a.ok, f"{a}")
                    self.assertEqual(len(a.losses), 50)

    def test_wrong_models_are_found(self):
        for wrong, dtype in ((LooseNorm, torch.float32), (LosesTheResidual, torch.float32),
                             (LooksAhead, torch.float32),
                             (Shifted, torch.float32), (DropsAGradient, torch.float32),
                             (LooksAhead, torch.bfloat16), (DropsAGradient, torch.bfloat16)):
            with self.subTest(wrong.__name__, dtype=dtype):
                a = model.agreement(model.Sizes(), wrong("torch"), dtype)
                self.assertFalse(a.ok, f"{a}")

    def test_the_times_name_the_implementations(self):
        """Those that are portable, those that a database knows to be faster, and without one what times them;
        compiled and in eager mode the same."""
        timed, said = [], io.StringIO()

        def step_times(sizes, operators, dtype, compiled):
            timed.append((dict(getattr(operators, "impls", {})), compiled))
            return 1.0, 2.0
        faster = ["torch/eager"]
        with mock.patch.object(model, "step_times", step_times), mock.patch.object(model.choice, "fastest",
            lambda *of: [n for n in faster if n in of[-1]]), \
                mock.patch("triad.torch.implementations.gpu", lambda device: "Some GPU"), \
                contextlib.redirect_stdout(said):
            model.print_times("fp32", torch.float32, None, "cpu")
            before, faster[:] = len(timed), ["torch/upcast", "torch/compile"]
            model.print_times("fp32", torch.float32, None, "cpu")
        portable = dict.fromkeys(model.calls(model.LARGE), "torch/eager")
        upcast = dict(zip(model.calls(model.LARGE), ("torch/compile", "torch/compile", "torch/upcast",
                                                     "torch/sdpa", "torch/upcast", "torch/chunked")))
        plainly = model.chosen(model.LARGE, None, "fp32", "cpu", measured=False)
        self.assertEqual([t[0] for t in timed[before:]], [{}, {}, plainly, plainly, upcast, upcast],
                         said.getvalue())
        self.assertIn(f"triad fastest: {', '.join(f'{op} {name}' for op, name in upcast.items())}",
                      said.getvalue())
        self.assertEqual(timed[before - 1][0], portable)
        for line in model.benches(model.LARGE, "bf16"):
            self.assertRegex(line, r"^triad bench \w+ --dtype bf16 --dims \w+=\d+,")

    def test_compiled_with_implementations_of_its_own(self):
        small = model.Sizes(batch=1, seq=4, heads=2, heads_kv=1, head_dim=8, hidden=8, vocab=8, layers=1)
        impls = model.chosen(small, None, "fp32", "cpu", measured=False)
        self.assertEqual(set(impls), set(model.calls(small)))
        ours, data = model.Model(small, model.Ours(impls=impls), torch.float32), model.batch(small)
        re.purge()  # as in a process that has called nothing before
        torch.testing.assert_close(torch.compile(ours, fullgraph=True, backend="aot_eager")(*data),
                                   ours(*data))

    def test_the_command(self):
        args = ["--device", "cpu", "--impl", "torch", "--dtype", "fp32", "--steps", "3"]
        self.assertEqual(model.main(args), 0)


if __name__ == "__main__":
    unittest.main()
