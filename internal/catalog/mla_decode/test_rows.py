"""The row of a peer of mla_decode, with a library of the test in the peer's place."""

from __future__ import annotations

import math
import types
import unittest
import unittest.mock

import torch

import client  # noqa: F401  puts the bridge on sys.path: first

import flash_mla_dense


class FlashMLA(unittest.TestCase):
    def call(self, empty_lse: str):
        """What the row makes of an lse that lies as FlashMLA's does, and what it asked for."""
        asked = {}

        def library(q, cache, table, lengths, head_dim_v, schedule, **more):
            asked.update(more, cache=cache, schedule=schedule)
            lse = torch.arange(12.0).view(2, 2, 3).transpose(1, 2)
            lse[0, 1, 1] = math.inf
            return q[..., :head_dim_v], lse

        module = types.SimpleNamespace(flash_mla_with_kvcache=library,
                                       get_mla_metadata=lambda: ("fresh", None))
        with unittest.mock.patch.dict("sys.modules", flash_mla=module):
            o, lse = flash_mla_dense.forward(
                torch.zeros(2, 2, 3, 576), torch.zeros(4, 64, 576), torch.zeros(2, 2), torch.zeros(2),
                causal=True, scale=0.5, empty_lse=empty_lse, least_length=0, head_dim_v=512)
        self.assertEqual((o.shape[3], lse.is_contiguous(), asked["cache"].shape),
                         (512, True, (4, 64, 1, 576)))
        self.assertEqual((asked["schedule"], asked["causal"], asked["softmax_scale"], asked["use_legacy"]),
                         ("fresh", True, 0.5, True))
        return lse

    def test_lse_of_nothing(self):
        self.assertEqual(self.call("inf")[0, 1, 1], math.inf)
        lse = self.call("neg_inf")
        self.assertEqual((lse[0, 1, 1], lse[1, 2, 1]), (-math.inf, 11))

    def test_declines(self):
        q, table = torch.zeros(1, 1, 2, 576), torch.zeros(1, 1)
        narrow = q[..., :64]
        self.assertIn("head_dim is 64",
                      flash_mla_dense.accepts("forward", narrow, narrow, table, head_dim_v=32))
        self.assertIn("capability 9.0", flash_mla_dense.accepts("forward", q, q, table, head_dim_v=512))


if __name__ == "__main__":
    unittest.main()
