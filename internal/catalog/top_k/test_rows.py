"""Edges of top_k's rows: ties of every kind, in tensors that lie as they like."""

from __future__ import annotations

import unittest

import torch

from rows import Rows


class TopK(Rows):
    op = "top_k"

    def check(self, name, x, k):
        """The values are torch's, and the elements at the columns named, none of them twice."""
        shape = (x.shape[0], k)
        got = self.forward(name, [x], [("values", x.dtype, shape), ("indices", torch.int32, shape)], k=k)
        values, indices = got["values"], got["indices"].long()
        torch.testing.assert_close(values, torch.topk(x, k, dim=1).values, rtol=0, atol=0, equal_nan=True)
        at = torch.gather(x, 1, indices)
        torch.testing.assert_close(values, at, rtol=0, atol=0, equal_nan=True)
        signs = [t.signbit() | t.isnan() for t in (values, at)]
        self.assertTrue(torch.equal(*signs), "the sign of a zero")
        self.assertTrue(all(len(set(row)) == k for row in indices.tolist()), indices)

    def test_ties(self):
        x = torch.randn(6, 40)
        x[0], x[1] = torch.nan, -torch.inf
        x[2] = torch.where(torch.arange(40) % 2 == 0, 0.0, -0.0)
        x[3, ::3], x[3, 1::3] = torch.nan, torch.inf
        x[4] = torch.arange(40) // 7
        for name in ("triton/bitonic", "torch/eager"):
            for dtype in (torch.float32, torch.float16, torch.bfloat16):
                for k in (1, 5, 32, 40):
                    with self.subTest(name, dtype=dtype, k=k):
                        self.check(name, x.to(dtype), k)

    def test_layouts(self):
        base = torch.randn(6, 24).to(torch.bfloat16)
        layouts = {
            "sliced": base[:, 1:18],
            "transposed": base.T.contiguous().T,
            "expanded": base[:1].expand(6, 24),
        }
        for layout, x in layouts.items():
            for name in ("triton/bitonic", "torch/eager"):
                with self.subTest(name, layout=layout):
                    self.check(name, x, 7)


if __name__ == "__main__":
    unittest.main()
