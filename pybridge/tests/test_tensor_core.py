"""Products of fp8 that a tensor core adds with few bits: the contract "fast" of a user's own operator."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "worker"))
import bridge_folders  # noqa: E402, F401

import error_bound  # noqa: E402

M, N, K = 3, 5, 256


def product(x, w):
    return x.to(torch.bfloat16) @ w.to(torch.bfloat16).T


def drawn(seed, *shape, dtype=torch.float8_e4m3fn):
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 2).to(dtype)


def computed(contract, x, w):
    (y,) = error_bound.compute(product, (x, w), {}, contract, torch.bfloat16, False, 1, None, ())
    return y


def hopper(x, w):
    """The product as the tensor core adds it: each step of 32 aligned to its largest number, 13 bits kept."""
    x, w = x.double(), w.double()
    total = torch.zeros(M, N, dtype=torch.float64)
    for k in range(0, K, 32):
        terms = torch.cat([total[..., None], x[:, None, k:k + 32] * w[None, :, k:k + 32]], -1)
        unit = 2.0 ** (terms.abs().amax(-1, keepdim=True).clamp(min=1e-30).log2().floor() - 13)
        total = ((terms / unit).trunc() * unit).sum(-1)
    return total


class TensorCore(unittest.TestCase):
    def test_what_the_adder_cuts_is_allowed(self):
        """A large term that another cancels later costs the small ones between them their last bits."""
        x, w = drawn(1, M, K), drawn(2, N, K)
        usual = computed("fast", x, w)
        self.assertTrue(((hopper(x, w) - usual.r).abs() <= usual.e).all())
        self.assertLess(usual.e.max() / usual.r.abs().max(), 0.1)
        x[:, 0], x[:, -1], w[:, 0], w[:, -1] = 448, -448, 448, 448
        eager, fast = computed("eager", x, w), computed("fast", x, w)
        off = (hopper(x, w) - fast.r).abs()
        self.assertTrue((off > eager.e).any())
        self.assertTrue((off <= fast.e).all())
        self.assertTrue(torch.equal(eager.r, fast.r))

    def test_other_products_are_summed_in_fp32(self):
        x, w = drawn(1, M, K, dtype=torch.bfloat16), drawn(2, N, K)
        self.assertTrue(torch.equal(computed("eager", x, w).e, computed("fast", x, w).e))


if __name__ == "__main__":
    unittest.main()
