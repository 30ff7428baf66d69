"""Every implementation of every operator, through a worker, against the operator's reference in fp64."""

from __future__ import annotations

import unittest
import unittest.mock

import torch

from cases import BOUND, Case, backward_of, forward_cases, largest_error, reference_of
from client import Client
from described import described
from peers import PEERS

WORKER: Client
WRONG_ON_A_CPU = {"layernorm": {("torch/eager", "backward", "fp16"), ("torch/eager", "backward", "bf16")}}
"""What docs/findings.md knows to be wrong: it is not compared here."""


def setUpModule():
    global WORKER
    WORKER = Client()


def tearDownModule():
    WORKER.close()


class Operators(unittest.TestCase):
    def run_and_compare(self, case: Case, entry: dict, inputs, outputs, truth, dtypes):
        """One call under both poisons: every output that the row gives is near the truth, the same in both, and nothing else was written."""
        wanted = [(n, d, tuple(t.shape)) for n, d, t in zip(outputs, dtypes, truth) if n in entry["outputs"]]
        reply, got = WORKER.run(case.op, entry["name"], entry["pass"], inputs, wanted, **case.attributes)
        first = reply["launches"][0]
        if first.get("status") == "UNSUPPORTED":
            return first["message"]
        self.assertEqual([launch.get("message") for launch in reply["launches"]], [None, None], first)
        for launch in reply["launches"]:
            self.assertNotIn("guards", launch)
            self.assertEqual(launch["inputs"], first["inputs"])
        for name, dtype, _ in wanted:
            self.assertEqual(set(got[0]), set(got[1]))
            self.assertIn(name, got[0], first["outputs"])
            a, b = (g[name].view(torch.uint8) if g[name].numel() else g[name] for g in got)
            self.assertTrue(torch.equal(a, b), f"{name} differs between two launches")
            # An output in fp32 may still show the roundings of 16-bit inputs; a composition that rounds every intermediate has several of them.
            bound = max(BOUND[dtype], BOUND.get(inputs[0].dtype, 0)) * (4 if entry["contract"] == "eager" else 1)
            if entry["device"] == "gpu" and entry["contract"] in ("promoted", "fast"):
                bound = max(bound, 1e-3)  # a tensor core sums fp8 products with 13 bits behind the point
            self.assertLessEqual(largest_error(got[0][name], truth[outputs.index(name)]), bound, name)
        return None

    def check(self, op: str) -> None:
        reply = WORKER.ask("load", {"op": op})
        self.assertEqual([f for f in reply.get("failed", []) if f["implementation"] not in PEERS], [])
        supported = set()
        for entry in reply["implementations"]:
            if entry["name"] == "torch/compile":
                continue  # test_compile has it
            wrong = WRONG_ON_A_CPU.get(op, set()) if WORKER.greeting["device"] != "gpu" else set()
            for dtype in entry["dtypes"]:
                if (entry["name"], entry["pass"], dtype) in wrong:
                    continue
                for case in forward_cases(op, dtype):
                    with self.subTest(implementation=entry["name"], direction=entry["pass"], dtype=dtype, shape=list(case.inputs[0].shape), **case.attributes):
                        if entry["pass"] == "forward":
                            truth = case.truth()
                            why = self.run_and_compare(case, entry, case.inputs, case.outputs, truth, [case.dtype_of(n) for n in case.outputs])
                        else:
                            b = backward_of(case)
                            why = self.run_and_compare(case, entry, b.chained if entry["recomputes"] else b.saved, b.gradients, b.truth, b.dtypes)
                        if why is None:
                            supported.add((entry["name"], entry["pass"], dtype))
        listed = {(e["name"], e["pass"], d) for e in reply["implementations"] for d in e["dtypes"] if e["name"] != "torch/compile"}
        if WORKER.greeting["device"] != "gpu":  # there torch's kernels take what they take
            self.assertEqual(listed - supported, WRONG_ON_A_CPU.get(op, set()), "no case of these ran at all")

    def test_softmax(self):
        self.check("softmax")

    def test_layernorm(self):
        self.check("layernorm")

    def test_swiglu(self):
        self.check("swiglu")

    def test_rope(self):
        self.check("rope")

    def test_fp8_gemm(self):
        self.check("fp8_gemm")

    def test_flash_attention(self):
        self.check("flash_attention")


class Edges(unittest.TestCase):
    """What ragged sizes alone do not show."""

    def setUp(self):
        torch.manual_seed(5)

    def forward(self, op, name, inputs, outputs, **attributes):
        WORKER.ask("load", {"op": op})
        reply, got = WORKER.run(op, name, "forward", inputs, outputs, "a", **attributes)
        self.assertIsNone(reply["launches"][0].get("message"))
        return got[0]

    def test_a_softmax_row_without_a_finite_maximum_is_nan(self):
        x = torch.zeros(4, 5)
        x[0], x[1, 2], x[2, 3], x[3, 1:] = -torch.inf, torch.inf, torch.nan, -torch.inf
        for name in ("triton/row", "triton/online", "torch/eager"):
            with self.subTest(name):
                y = self.forward("softmax", name, [x], [("y", torch.float32, (4, 5))])["y"]
                self.assertTrue(y[:3].isnan().all() and torch.equal(y[3], torch.tensor([1.0, 0, 0, 0, 0])), y)

    def test_online_softmax_takes_a_maximum_in_the_last_block_after_a_masked_one(self):
        x = torch.full((2, 5000), -torch.inf)
        x[0, 4999], x[1, 3], x[1, 4500] = 3.0, 1.0, 90.0
        y = self.forward("softmax", "triton/online", [x], [("y", torch.float32, (2, 5000))])["y"]
        self.assertLessEqual(largest_error(y, torch.softmax(x.double(), -1)), BOUND[torch.float32])
        self.assertTrue((y[x == -torch.inf] == 0).all())

    def test_layouts(self):
        base = torch.randn(6, 8).to(torch.bfloat16)
        layouts = {"offset": torch.cat((torch.zeros(1, dtype=torch.bfloat16), base.flatten()))[1:].view(6, 8), "sliced": base[:, :7],
                   "transposed": base.T.contiguous().T, "expanded": base[:1].expand(6, 8)}
        for layout, x in layouts.items():
            for name in ("triton/row", "triton/online", "torch/eager"):
                with self.subTest(name, layout=layout):
                    y = self.forward("softmax", name, [x], [("y", torch.bfloat16, tuple(x.shape))])["y"]
                    self.assertLessEqual(largest_error(y, torch.softmax(x.double(), -1)), BOUND[torch.bfloat16])

    def test_swiglu_and_rope_take_strides(self):
        gate, up = torch.randn(8, 6).T, torch.randn(1, 8).expand(6, 8)
        y = self.forward("swiglu", "triton/block", [gate, up], [("y", torch.float32, (6, 8))])["y"]
        self.assertLessEqual(largest_error(y, torch.nn.functional.silu(gate.double()) * up.double()), BOUND[torch.float32])
        q, k, one, zero = torch.randn(2, 3, 4, 8).transpose(2, 3), torch.randn(2, 3, 1, 4), torch.ones(5, 2), torch.zeros(5, 2)
        got = self.forward("rope", "triton/block", [q, k, one, zero], [("q_out", torch.float32, (2, 3, 8, 4)), ("k_out", torch.float32, (2, 3, 1, 4))],
                           interleaved=True, offset=1)
        self.assertTrue(torch.equal(got["q_out"], q) and torch.equal(got["k_out"], k), "position 0 is the identity")

    def test_an_empty_reduction_is_written(self):
        e4m3 = torch.float8_e4m3fn
        for name in ("triton/tiled", "triton/splitk", "torch/dequant"):
            with self.subTest(name):
                inputs = [torch.empty(3, 0).to(e4m3), torch.empty(3, 0), torch.empty(5, 0).to(e4m3), torch.empty(1, 0)]
                c = self.forward("fp8_gemm", name, inputs, [("c", torch.bfloat16, (3, 5))], scaling="block", out="bf16")["c"]
                self.assertTrue(torch.equal(c, torch.zeros(3, 5, dtype=torch.bfloat16)))
        for name in ("triton/tiled", "torch/sdpa", "torch/eager"):
            with self.subTest(name):
                inputs = [torch.randn(1, 2, 3, 16), torch.empty(1, 1, 0, 16), torch.empty(1, 1, 0, 16)]
                outputs = [("o", torch.float32, (1, 2, 3, 16)), ("lse", torch.float32, (1, 2, 3))][:2 if name == "triton/tiled" else 1]
                got = self.forward("flash_attention", name, inputs, outputs, causal=False, scale=0.25)
                self.assertTrue(torch.equal(got["o"], torch.zeros(1, 2, 3, 16)))
                if "lse" in got:
                    self.assertTrue((got["lse"] == -torch.inf).all())

    def test_rows_that_see_no_key_have_no_gradient(self):
        q, k, v, grad_o = (torch.randn(1, 1, s, 16) for s in (5, 2, 2, 5))
        o, lse = torch.zeros(1, 1, 5, 16), torch.full((1, 1, 5), -torch.inf)
        s = (q[0, 0, 3:] @ k[0, 0].T * 0.25).masked_fill(torch.tensor([[False, True], [False, False]]), -torch.inf)
        o[0, 0, 3:], lse[0, 0, 3:] = torch.softmax(s, -1) @ v[0, 0], torch.logsumexp(s, -1)
        truth = dict(zip(("grad_q", "grad_k", "grad_v"), reference_of("flash_attention").reference_backward(
            *(t.double() for t in (q, k, v, o, lse, grad_o)), causal=True, scale=0.25)))
        WORKER.ask("load", {"op": "flash_attention"})
        shapes = [("grad_q", torch.float32, (1, 1, 5, 16)), ("grad_k", torch.float32, (1, 1, 2, 16)), ("grad_v", torch.float32, (1, 1, 2, 16))]
        got = [WORKER.run("flash_attention", name, "backward", inputs, shapes, "a", causal=True, scale=0.25)[1][0]
               for name, inputs in (("triton/tiled", [q, k, v, o, lse, grad_o]), ("torch/sdpa", [q, k, v, grad_o]), ("torch/eager", [q, k, v, grad_o]))]
        for g in got:
            self.assertTrue(torch.equal(g["grad_q"][0, 0, :3], torch.zeros(3, 16)))
            for name in g:
                self.assertLessEqual(largest_error(g[name], truth[name]), BOUND[torch.float32])

    def test_empty_rows_of_layernorm_give_zero_sums(self):
        WORKER.ask("load", {"op": "layernorm"})
        inputs = [torch.empty(0, 5), torch.ones(5), torch.empty(0), torch.empty(0), torch.empty(0, 5)]
        outputs = [("grad_x", torch.float32, (0, 5)), ("grad_weight", torch.float32, (5,)), ("grad_bias", torch.float32, (5,))]
        got = WORKER.run("layernorm", "triton/row", "backward", inputs, outputs, "a", eps=1e-5)[1][0]
        self.assertTrue(torch.equal(got["grad_weight"], torch.zeros(5)) and torch.equal(got["grad_bias"], torch.zeros(5)))

    def test_scaled_mm_is_unsupported_where_torch_refuses(self):
        if WORKER.greeting["device"] == "gpu":
            self.skipTest("what the CPU build refuses")
        WORKER.ask("load", {"op": "fp8_gemm"})
        e4m3 = torch.float8_e4m3fn
        for scaling, k, scales in (("row", 32, ((16,), (16,))), ("block", 128, ((16, 1), (1, 1)))):
            with self.subTest(scaling, k=k):
                inputs = [torch.ones(16, k).to(e4m3), torch.ones(scales[0]), torch.ones(16, k).to(e4m3), torch.ones(scales[1])]
                reply, _ = WORKER.run("fp8_gemm", "torch/scaled_mm", "forward", inputs, [("c", torch.bfloat16, (16, 16))], "a", scaling=scaling, out="bf16")
                self.assertEqual(reply["launches"][0].get("status"), "UNSUPPORTED")
                self.assertIn("refuses", reply["launches"][0]["message"])

    def test_a_wrong_answer_of_scaled_mm_is_not_declined(self):
        module = reference_of("fp8_gemm")
        row = next(i for i in module.IMPLEMENTATIONS if i.name == "torch/scaled_mm")
        a = torch.ones(64, 384).to(torch.float8_e4m3fn)
        inputs = described([a, torch.ones(64, 3), a, torch.ones(1, 3)])

        def answers(a, *rest):
            return torch.full((a.shape[0], 1), float("nan"))

        def refuses(*inputs):
            raise RuntimeError("torch does not take it")

        for function, declined in ((answers, False), (refuses, True)):
            with self.subTest(declined=declined), unittest.mock.patch.object(module, "_scaled_mm", function):
                module._refused.cache_clear()
                self.assertEqual(bool(row.accepts("forward", *inputs, scaling="block", out="bf16")), declined)
        module._refused.cache_clear()

    def test_none_of_torchs_attention_for_an_empty_batch_is_said(self):
        """On a GPU torch's cuDNN attention gives None for one: a documented finding, and no answer."""
        module = reference_of("flash_attention")
        row = next(i for i in module.IMPLEMENTATIONS if i.name == "torch/sdpa")
        q, grad_o = torch.empty(0, 2, 4, 16), torch.empty(0, 2, 4, 16)
        with unittest.mock.patch.object(torch.nn.functional, "scaled_dot_product_attention", return_value=None):
            for call in (lambda: row.forward(q, q, q, causal=False, scale=0.25), lambda: row.backward(q, q, q, grad_o, causal=False, scale=0.25)):
                with self.assertRaisesRegex(TypeError, "scaled_dot_product_attention returned None"):
                    call()
        for got, like in zip(row.backward(q, q, q, grad_o, causal=False, scale=0.25), (q, q, q)):
            self.assertEqual(got.shape, like.shape)

    def test_accepts_is_asked_with_descriptions_alone(self):
        """Every row of every operator says what it takes of tensors without values."""
        for op in ("flash_attention", "fp8_gemm", "layernorm", "rope", "softmax", "swiglu"):
            for row in reference_of(op).IMPLEMENTATIONS:
                for case in forward_cases(op, row.dtypes[0]):
                    if row.accepts:
                        said = row.accepts("forward", *described(case.inputs), **case.attributes)
                        self.assertTrue(said is None or isinstance(said, str), row.name)

    def test_head_dims_that_the_tile_does_not_take_are_unsupported(self):
        WORKER.ask("load", {"op": "flash_attention"})
        for head_dim in (8, 20, 264):
            inputs = [torch.randn(1, 1, 2, head_dim) for _ in range(3)]
            reply, _ = WORKER.run("flash_attention", "triton/tiled", "forward", inputs, [("o", torch.float32, (1, 1, 2, head_dim))], "a", causal=False, scale=1.0)
            self.assertEqual(reply["launches"][0]["status"], "UNSUPPORTED")
            self.assertIn(f"head_dim {head_dim}", reply["launches"][0]["message"])


if __name__ == "__main__":
    unittest.main()
