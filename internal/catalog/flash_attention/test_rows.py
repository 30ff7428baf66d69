"""Edges of flash_attention's rows: what ragged sizes alone do not show."""

from __future__ import annotations

import unittest
import unittest.mock

import torch

from cases import BOUND, largest_error, reference_of
from rows import Rows


class FlashAttention(Rows):
    op = "flash_attention"

    def test_no_key_gives_zeros(self):
        for name in ("triton/tiled", "torch/sdpa", "torch/eager"):
            with self.subTest(name):
                inputs = [torch.randn(1, 2, 3, 16), torch.empty(1, 1, 0, 16), torch.empty(1, 1, 0, 16)]
                outputs = [("o", torch.float32, (1, 2, 3, 16)), ("lse", torch.float32, (1, 2, 3))][
                    : 2 if name == "triton/tiled" else 1
                ]
                got = self.forward(name, inputs, outputs, causal=False, scale=0.25)
                self.assertTrue(torch.equal(got["o"], torch.zeros(1, 2, 3, 16)))
                if "lse" in got:
                    self.assertTrue((got["lse"] == -torch.inf).all())

    def test_rows_that_see_no_key_have_no_gradient(self):
        q, k, v, grad_o = (torch.randn(1, 1, s, 16) for s in (5, 2, 2, 5))
        o, lse = torch.zeros(1, 1, 5, 16), torch.full((1, 1, 5), -torch.inf)
        s = (q[0, 0, 3:] @ k[0, 0].T * 0.25).masked_fill(
            torch.tensor([[False, True], [False, False]]), -torch.inf
        )
        o[0, 0, 3:], lse[0, 0, 3:] = torch.softmax(s, -1) @ v[0, 0], torch.logsumexp(s, -1)
        truth = dict(
            zip(
                ("grad_q", "grad_k", "grad_v"),
                reference_of(self.op).reference_backward(
                    *(t.double() for t in (q, k, v, o, lse, grad_o)), causal=True, scale=0.25
                ),
            )
        )
        shapes = [
            ("grad_q", torch.float32, (1, 1, 5, 16)),
            ("grad_k", torch.float32, (1, 1, 2, 16)),
            ("grad_v", torch.float32, (1, 1, 2, 16)),
        ]
        got = [
            self.worker.run(self.op, name, "backward", inputs, shapes, "a", causal=True, scale=0.25)[1][0]
            for name, inputs in (
                ("triton/tiled", [q, k, v, o, lse, grad_o]),
                ("torch/sdpa", [q, k, v, grad_o]),
                ("torch/eager", [q, k, v, grad_o]),
            )
        ]
        for g in got:
            self.assertTrue(torch.equal(g["grad_q"][0, 0, :3], torch.zeros(3, 16)))
            for name in g:
                self.assertLessEqual(largest_error(g[name], truth[name]), BOUND[torch.float32])

    def test_none_of_torchs_attention_for_an_empty_batch_is_said(self):
        """On a GPU torch's cuDNN attention gives None for one: a documented finding, and no answer."""
        module = reference_of(self.op)
        row = next(i for i in module.IMPLEMENTATIONS if i.name == "torch/sdpa")
        q, grad_o = torch.empty(0, 2, 4, 16), torch.empty(0, 2, 4, 16)
        with unittest.mock.patch.object(
            torch.nn.functional, "scaled_dot_product_attention", return_value=None
        ):
            for call in (
                lambda: row.forward(q, q, q, causal=False, scale=0.25),
                lambda: row.backward(q, q, q, grad_o, causal=False, scale=0.25),
            ):
                with self.assertRaisesRegex(TypeError, "scaled_dot_product_attention returned None"):
                    call()
        for got, like in zip(row.backward(q, q, q, grad_o, causal=False, scale=0.25), (q, q, q)):
            self.assertEqual(got.shape, like.shape)

    def test_head_dims_that_the_tile_does_not_take_are_unsupported(self):
        for head_dim in (8, 20, 264):
            inputs = [torch.randn(1, 1, 2, head_dim) for _ in range(3)]
            reply, _ = self.worker.run(
                self.op,
                "triton/tiled",
                "forward",
                inputs,
                [("o", torch.float32, (1, 1, 2, head_dim))],
                "a",
                causal=False,
                scale=1.0,
            )
            self.assertEqual(reply["launches"][0]["status"], "UNSUPPORTED")
            self.assertIn(f"head_dim {head_dim}", reply["launches"][0]["message"])

    def test_values_of_another_size(self):
        """Rows decline what they do not take of head_dim_v, and say so."""
        q, k, v = torch.randn(1, 2, 3, 16), torch.randn(1, 1, 4, 16), torch.randn(1, 1, 4, 20)
        module = reference_of(self.op)
        tiled, library = next(i for i in module.IMPLEMENTATIONS if i.name == "triton/tiled"), module.library
        for accepts in (tiled.accepts, library.accepts_fa4):
            self.assertIn("head_dim_v 20", accepts("forward", q, k, v, causal=False, scale=1.0))
        v = torch.randn(1, 1, 4, 24)
        why = library.accepts_fa4("backward", q, k, v, causal=False, scale=1.0)
        self.assertIn("head_dim_v other than head_dim", why)
        o = library.attention(q, k, v, causal=False, scale=1.0)
        none = library.attention(q, k[:, :, :0], v[:, :, :0], causal=False, scale=1.0)
        self.assertEqual((o.shape, none.shape), ((1, 2, 3, 24), (1, 2, 3, 24)))


if __name__ == "__main__":
    unittest.main()
