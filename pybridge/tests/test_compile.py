"""torch.compile on a CPU: one dynamic function a dtype, right, and never eager behind our back."""

from __future__ import annotations

import tempfile
import textwrap
import unittest
from pathlib import Path

import torch

from client import Client  # puts the bridge on sys.path

import implementation
import tiers
from cases import BOUND, backward_of, forward_cases, largest_error

SUITE = tiers.Suite("compile", "pybridge", "requirements.txt")
EITHER = ("softmax", "bf16"), ("swiglu", "fp32")
COMPILED = [(op, dtype) for op, dtype in EITHER
            if SUITE.covers(f"{op} {dtype}", "a dynamic function", *tiers.operator(op))]


class Compile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def start(self, **how) -> Client:
        client = Client(environment={"TORCHINDUCTOR_CACHE_DIR": str(self.folder / "inductor")}, **how)
        self.addCleanup(client.close)
        return client

    def test_a_dynamic_function_is_right_and_keeps_its_cache_where_it_is_told(self):
        client = self.start()
        for op, dtype in COMPILED:
            entries = [e for e in client.ask("load", {"op": op, "slot": "torch/compile"})["implementations"]
                       if e["name"] == "torch/compile"]
            self.assertEqual([e.get("limit") for e in entries], ["quick1"] * 2)
            for case in forward_cases(op, dtype)[:2]:
                with self.subTest(op, shape=list(case.inputs[0].shape)):
                    [truth] = case.truth()
                    reply, got = client.run(op, "torch/compile", "forward", case.inputs,
                                            [("y", case.dtype_of("y"), tuple(truth.shape))])
                    self.assertEqual([reply["launches"][0].get(wrong) for wrong in ("message", "fault")],
                                     [None, None])
                    self.assertLessEqual(largest_error(got[0]["y"], truth), BOUND[case.dtype_of("y")])
                    b = backward_of(case)
                    wanted = [(n, d, tuple(t.shape)) for n, d, t in zip(b.gradients, b.dtypes, b.truth)]
                    reply, got = client.run(op, "torch/compile", "backward", b.chained, wanted, "a")
                    self.assertIsNone(reply["launches"][0].get("message"))
                    for name, _, truth in zip(b.gradients, b.dtypes, b.truth):
                        self.assertLessEqual(largest_error(got[0][name], truth), BOUND[case.dtype_of("y")])
        self.assertTrue(any((self.folder / "inductor").iterdir()))

    def test_a_library_of_which_a_killed_process_wrote_a_part_is_made_again(self):
        SUITE.ask(self, "")
        op, dtype = EITHER[0]
        case = forward_cases(op, dtype)[0]
        [truth] = case.truth()

        def faults() -> list:
            client = self.start()
            client.ask("load", {"op": op, "slot": "torch/compile"})
            reply, _ = client.run(op, "torch/compile", "forward", case.inputs,
                                  [("y", case.dtype_of("y"), tuple(truth.shape))], "a")
            return [launch.get("message") for launch in reply["launches"]]

        self.assertEqual(faults(), [None])
        libraries = list((self.folder / "inductor").rglob("*.so"))
        self.assertTrue(libraries)
        for library in libraries:
            library.write_bytes(b"")
        self.assertEqual(faults(), [None])

    def test_what_is_timed_is_compiled_for_its_sizes(self):
        """One dynamic graph for all sizes where a call is judged, one a size where it is timed, and neither
        takes the other's."""
        SUITE.ask(self, "")
        softmax = implementation.compile_for(lambda x: torch.softmax(x * 2, -1))
        self.addCleanup(setattr, implementation, "SIZES_ALONE", False)
        graphs = []
        for alone in (False, True, False):
            implementation.SIZES_ALONE = alone
            before = torch._dynamo.utils.counters["stats"]["unique_graphs"]
            for cols in (32, 48):
                x = torch.linspace(-3, 3, 4 * cols).view(4, cols)
                torch.testing.assert_close(softmax(x), torch.softmax(x * 2, -1))
            graphs.append(torch._dynamo.utils.counters["stats"]["unique_graphs"] - before)
        self.assertEqual(graphs, [1, 2, 0])

    def test_what_is_judged_to_be_timed_is_for_its_sizes_alone(self):
        (self.folder / "sizes.py").write_text(textwrap.dedent("""
            import torch
            import implementation
            from implementation import Implementation

            def forward(x):
                return torch.full_like(x, implementation.SIZES_ALONE)

            IMPLEMENTATIONS = [Implementation("torch/sizes", forward, outputs=("y",), compiled=True)]
        """))
        client = self.start(operators=self.folder)
        client.ask("load", {"op": "sizes"})
        for alone in (True, False):
            _, got = client.run("sizes", "torch/sizes", "forward", [torch.zeros(3)],
                                [("y", torch.float32, (3,))], "a", sizes_alone=alone)
            self.assertEqual(got[0]["y"].tolist(), [float(alone)] * 3)

    def test_falling_back_to_eager_is_an_error(self):
        SUITE.ask(self, "")
        (self.folder / "falling.py").write_text(textwrap.dedent("""
            import torch
            import implementation
            from implementation import Implementation, compile_for

            implementation.RECOMPILE_LIMIT = 2

            def double(x, *, times):
                return x * 2 + times.__len__()

            IMPLEMENTATIONS = [Implementation("torch/compile", compile_for(double), outputs=("y",),
                                              compiled=True)]
        """))
        client = self.start(operators=self.folder)
        client.ask("load", {"op": "falling"})
        statuses = []
        for times in ("a", "bb", "ccc", "dddd"):  # each text is a graph of its own
            reply, _ = client.run("falling", "torch/compile", "forward", [torch.ones(3)],
                                  [("y", torch.float32, (3,))], "a", times=times)
            statuses.append((reply["launches"][0].get("status"), reply["launches"][0].get("message", "")))
        self.assertEqual([s for s, _ in statuses], [None, None, "CRASH", "CRASH"], statuses)
        self.assertIn("RecompileLimit", statuses[2][1])


if __name__ == "__main__":
    unittest.main()
