"""The error bounds that are composed operation by operation: right fp32 arithmetic stays within them,
ordinary mistakes do not."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).parents[1] / "worker"))
import bridge_folders  # noqa: E402, F401

import bounded  # noqa: E402
import error_bound  # noqa: E402  (after its folder is on the path)


def drawn(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def computed(function, tensors, contract="fp32", dtype=torch.float32, upstream=None, differentiable=()):
    return error_bound.compute(function, tuple(tensors), {}, contract, dtype, False, 1, upstream,
                             differentiable)


def _in_parts(x, w):
    y = torch.empty(x.shape, dtype=x.dtype)
    for i in range(x.shape[0]):
        y[i] = torch.exp(x[i]) * w
    return y


X, W, B = drawn(1, 13, 37), drawn(2, 37), drawn(3, 37)
OPERATORS = {
    "rms norm": (lambda x, w: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * w, (X, W)),
    "layer norm": (lambda x, w, b: F.layer_norm(x, (37,), w, b), (X, W, B)),
    "softmax": (lambda x: torch.softmax(x, -1), (X * 5,)),
    "log softmax": (lambda x: F.log_softmax(x, -1), (X * 5,)),
    "gelu": (F.gelu, (X * 3,)), "silu": (F.silu, (X * 9,)), "tanh": (torch.tanh, (X,)),
    "rectified": (F.relu, (X,)), "softplus": (F.softplus, (X * 4,)),
    "product": (lambda a, b: a @ b, (X, drawn(4, 37, 11))),
    "linear": (F.linear, (X, drawn(5, 7, 37), drawn(6, 7))),
    "attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
                  tuple(drawn(s, 2, 3, 17, 8) for s in (7, 8, 9))),
    "convolution": (lambda x, w: F.conv2d(x, w, padding=1), (drawn(10, 2, 3, 9, 9), drawn(11, 4, 3, 3, 3))),
    "pooling": (lambda x: F.max_pool2d(x, 2) + F.avg_pool2d(x, 2), (drawn(12, 2, 3, 8, 8),)),
    "pooling of volumes": (lambda x: F.max_pool3d(x, 2) + F.avg_pool3d(x, 2, padding=1)[..., :2, :2, :2],
                           (drawn(17, 2, 3, 4, 4, 4),)),
    "product of factors": (lambda x: x.prod(-1) + x[:, 0].prod(), (X[:, :9],)),
    "cumulative product": (lambda x: x.cumprod(-1), (X,)),
    "written in parts": (_in_parts, (X, W)),
    "cross entropy": (lambda x: F.cross_entropy(x, torch.arange(13)), (X,)),
    "cumulative sum": (lambda x: x.cumsum(-1), (X,)),
    "standard deviation": (lambda x: (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True), (X,)),
    "masked": (lambda x: x.masked_fill(torch.ones_like(x, dtype=torch.bool).triu(1),
                                       float("-inf")).softmax(-1), (X,)),
    "Fourier transform": (lambda x: torch.view_as_real(torch.fft.fft2(torch.complex(x[0], x[1]))),
                          (drawn(18, 2, 12, 18),)),
    "real transforms": (lambda x: torch.fft.irfft(2 * torch.fft.rfft(x), n=x.shape[-1]), (X,)),
    "least of those that meet": (
        lambda x, w: w.exp().scatter_reduce(0, torch.arange(37) % 5, (x[0] * w).sin(), "amin"), (X, W)),
    "turned": (lambda x, w: x @ w.t() + w.T.sum(), (X, drawn(15, 7, 37))),
    "in place": (lambda x: x.mul(torch.sigmoid(x)).add_(1), (X,)),
    "rotation": (lambda x, c, s: torch.cat((x[:, :4] * c - x[:, 4:8] * s, x[:, 4:8] * c + x[:, :4] * s), -1),
                 (X, drawn(13, 13, 4), drawn(14, 13, 4))),
}


class ErrorBounds(unittest.TestCase):
    def within(self, bounded, got, ulp=2.0 ** -23) -> None:
        off = (got.double() - bounded.r).abs() - bounded.e - ulp / 2 * bounded.r.abs() - 2.0 ** -149
        self.assertTrue(bool(bounded.e.isfinite().all()))
        self.assertLessEqual(off.max().item(), 0)

    def test_fp32_stays_within(self):
        for name, (function, tensors) in OPERATORS.items():
            with self.subTest(name):
                [bounded] = computed(function, tensors)
                y = function(*(t.clone() for t in tensors))
                self.within(bounded, y)
                g = drawn(15, *y.shape)
                leaves = [t.clone().requires_grad_() for t in tensors]
                wanted = torch.autograd.grad(function(*leaves), leaves, g)
                for bounded, got in zip(computed(function, tensors, upstream={0: g},
                                                 differentiable=tuple(range(len(tensors)))), wanted):
                    self.within(bounded, got)

    def test_values_are_those_of_fp64(self):
        for name, (function, tensors) in OPERATORS.items():
            with self.subTest(name):
                [bounded] = computed(function, tensors)
                truth = function(*(t.double() for t in tensors))
                self.assertLessEqual(((bounded.r - truth).abs() / (truth.abs() + 1)).max().item(), 1e-13)

    def test_mistakes_do_not(self):
        """Each wrong version is outside the error bound of the right one somewhere."""
        wrong = {
            "rms norm": lambda x, w: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 2e-5) * w,
            "softmax": lambda x: torch.softmax(x.half().float(), -1),
            "layer norm": lambda x, w, b: F.layer_norm(x, (37,), w, b, 2e-5),
            "gelu": lambda x: F.gelu(x, approximate="tanh"),
            "product": lambda a, b: (a.bfloat16() @ b.bfloat16()).float(),
            "cumulative sum": lambda x: x.half().cumsum(-1).float(),
            "standard deviation": lambda x: (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True,
                unbiased=False),
        }
        for name, function in wrong.items():
            with self.subTest(name):
                right, tensors = OPERATORS[name]
                [bounded] = computed(right, tensors)
                self.assertGreater(((function(*tensors).double() - bounded.r).abs() - bounded.e - 2.0 ** -24
                                    * bounded.r.abs()).max().item(), 0)

    def test_a_factor_of_a_matrix(self):
        def factor(x, upper=False):
            return torch.linalg.cholesky(x.T @ x, upper=upper)
        x = drawn(19, 40, 12)
        for upper in (False, True):
            [found] = computed(lambda x: factor(x, upper), (x,))
            self.within(found, factor(x, upper))
            got = torch.linalg.cholesky((x.T @ x).half().float(), upper=upper)
            self.assertGreater(((got.double() - found.r).abs() - found.e).max().item(), 0)
        nearly = torch.cat([x, x[:, :1] + 1e-5 * drawn(20, 40, 1)], 1)  # rounding decides whether it has one
        self.assertTrue(computed(factor, (nearly,))[0].e.isinf().any())

    def test_every_step_in_16_bits_stays_within_eager_and_not_within_fp32(self):
        def rms_norm(x, w):
            return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * w
        x, w = X.bfloat16(), W.bfloat16()
        got = rms_norm(x, w)
        [eager] = computed(rms_norm, (x, w), "eager", torch.bfloat16)
        self.within(eager, got, 2.0 ** -7)
        [strict] = computed(rms_norm, (x, w), "fp32", torch.bfloat16)
        self.assertGreater(((got.double() - strict.r).abs() - strict.e - 2.0 ** -8
                            * strict.r.abs()).max().item(), 0)

    def test_rounding_points_count_where_the_contract_has_them(self):
        from implementation import rounded

        def attention(s, v):
            return rounded(torch.softmax(s, -1)) @ v
        s, v = X.bfloat16(), drawn(16, 37, 5).bfloat16()
        got = torch.softmax(s.float(), -1).bfloat16().float() @ v.float()
        [stored] = computed(attention, (s, v), "stored", torch.bfloat16)
        self.within(stored, got)
        [strict] = computed(attention, (s, v), "fp32", torch.bfloat16)
        self.assertGreater(((got.double() - strict.r).abs() - strict.e).max().item(), 0)
        self.assertTrue(torch.equal(rounded(v), v))

    def test_what_is_written_into_room_is_bounded_once(self):
        def added(x):
            room = bounded.writable(torch.zeros(x.shape, dtype=x.dtype))
            room[...] = x + 1
            return room
        found, = computed(added, (X,))
        self.assertEqual({type(part) for part in (found.r, found.e, found.s)}, {torch.Tensor})
        self.assertTrue(torch.equal(found.r, X.double() + 1))

    def test_what_is_unknown_is_reported(self):
        with self.assertRaisesRegex(error_bound.UnknownForm, "bessel_i0 has no rule"):
            computed(torch.special.i0, (X,))
        with self.assertRaisesRegex(TypeError, "want 1 tensor"):
            computed(lambda x: (x, x), (X,))


if __name__ == "__main__":
    unittest.main()
