"""Edges of fp8_gemm's rows: what ragged sizes alone do not show."""

from __future__ import annotations

import unittest
import unittest.mock

import torch

from cases import reference_of
from rows import Rows
from tensor_descriptions import described


class Fp8Gemm(Rows):
    op = "fp8_gemm"

    def test_an_empty_reduction_is_written(self):
        e4m3 = torch.float8_e4m3fn
        for name in ("triton/tiled", "triton/splitk", "torch/dequant"):
            with self.subTest(name):
                inputs = [
                    torch.empty(3, 0).to(e4m3),
                    torch.empty(3, 0),
                    torch.empty(5, 0).to(e4m3),
                    torch.empty(1, 0),
                ]
                c = self.forward(name, inputs, [("c", torch.bfloat16, (3, 5))], scaling="block", out="bf16")[
                    "c"
                ]
                self.assertTrue(torch.equal(c, torch.zeros(3, 5, dtype=torch.bfloat16)))

    def test_what_the_copy_engine_cannot_read_is_refused(self):
        accepts = {i.name: i.accepts for i in reference_of(self.op).IMPLEMENTATIONS}
        e4m3 = torch.float8_e4m3fn
        scales = torch.ones(1), torch.ones(1)
        whole, short, empty = (torch.ones(4, k).to(e4m3) for k in (32, 20, 0))
        for name, operand, scaling, sentence in (
            ("persistent", whole, "tensor", None),
            ("persistent", whole, "block", None),
            ("persistent_fast", whole, "block", "every block has its scales"),
            ("persistent", short, "tensor", "do not begin at 16 bytes"),
            ("persistent", whole.T.contiguous().T, "tensor", "do not begin at 16 bytes"),
            ("persistent_fast", empty, "row", "an operand is empty"),
        ):
            with self.subTest(name, shape=operand.shape, scaling=scaling):
                why = accepts[f"triton/{name}"](
                    "forward", operand, scales[0], operand, scales[1], scaling=scaling, out="bf16"
                )
                if sentence is None:
                    self.assertIsNone(why)
                else:
                    self.assertIn(sentence, why or "")

    def test_scaled_mm_is_unsupported_where_torch_refuses(self):
        if self.worker.greeting["device"] == "gpu":
            self.skipTest("what the CPU build refuses")
        e4m3 = torch.float8_e4m3fn
        for scaling, k, scales in (("row", 32, ((16,), (16,))), ("block", 128, ((16, 1), (1, 1)))):
            with self.subTest(scaling, k=k):
                inputs = [
                    torch.ones(16, k).to(e4m3),
                    torch.ones(scales[0]),
                    torch.ones(16, k).to(e4m3),
                    torch.ones(scales[1]),
                ]
                reply, _ = self.worker.run(
                    self.op,
                    "torch/scaled_mm",
                    "forward",
                    inputs,
                    [("c", torch.bfloat16, (16, 16))],
                    "a",
                    scaling=scaling,
                    out="bf16",
                )
                self.assertEqual(reply["launches"][0].get("status"), "UNSUPPORTED")
                self.assertIn("refuses", reply["launches"][0]["message"])

    def test_a_wrong_answer_of_scaled_mm_is_not_declined(self):
        module = reference_of(self.op)
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


if __name__ == "__main__":
    unittest.main()
