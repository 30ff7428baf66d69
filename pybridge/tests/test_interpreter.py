"""The corrections of Triton's interpreter: right with them, and shown to be wrong without."""

from __future__ import annotations

import os
import unittest

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import client  # noqa: E402, F401  (puts pybridge on sys.path)

import interpreter  # noqa: E402

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2


@triton.jit
def _convert_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x.to(y_ptr.dtype.element_ty), mask=i < n)


def convert(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """x through a kernel that loads, converts and stores."""
    y = torch.empty(x.shape, dtype=dtype)
    block = 1 << 16
    _convert_kernel[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), BLOCK=block)
    return y


def bits(x: torch.Tensor) -> torch.Tensor:
    return x.view({1: torch.uint8, 2: torch.int16, 4: torch.int32}[x.element_size()])


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Bitwise equal, any NaN being as good as another."""
    nan = a.float().isnan()
    return torch.equal(nan, b.float().isnan()) and torch.equal(bits(a)[~nan], bits(b)[~nan])


def small_matrices(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """[16, 32] and [32, 16] of small integers: their product is exact."""
    generator = torch.Generator().manual_seed(3)
    return tuple(torch.randint(-4, 5, shape, generator=generator).to(dtype) for shape in ((16, 32), (32, 16)))


def product(a: torch.Tensor, b: torch.Tensor, accumulator: torch.dtype = torch.float32) -> torch.Tensor:
    """a b through the interpreter's tl.dot."""
    return interpreter.dot(a, b, accumulator)


class Interpreter(unittest.TestCase):
    def setUp(self):
        interpreter.correct()
        self.addCleanup(interpreter.correct)

    def test_dot_is_right_for_every_dtype(self):
        for dtype in (torch.float32, torch.float16, torch.bfloat16, E4M3, E5M2, torch.int8):
            with self.subTest(dtype):
                a, b = small_matrices(dtype)
                got = product(a, b, torch.int32 if dtype == torch.int8 else torch.float32)
                self.assertTrue(torch.equal(got.double(), a.double() @ b.double()))

    def test_dot_takes_two_formats_of_fp8(self):
        a, b = small_matrices(torch.float32)
        self.assertTrue(torch.equal(product(a.to(E5M2), b.to(E4M3)), a @ b))

    def test_without_the_correction_dot_is_wrong(self):
        nan = torch.full((16, 16), torch.nan).to(E4M3)
        for dtype, (a, b) in ((torch.bfloat16, small_matrices(torch.bfloat16)), (E4M3, (nan, nan))):
            with self.subTest(dtype):
                interpreter.without_correction()
                wrong = product(a, b)
                interpreter.correct()
                want = a.float() @ b.float()
                self.assertTrue(torch.equal(product(a, b).nan_to_num(), want.nan_to_num()))
                self.assertFalse(torch.equal(wrong.nan_to_num(), want.nan_to_num()),
                                 "right without the correction: drop it")

    def test_int8_accumulates_in_int32(self):
        a, b = (torch.full(shape, -128, dtype=torch.int8) for shape in ((16, 32), (32, 16)))
        self.assertTrue(torch.equal(product(a, b, torch.int32), torch.full((16, 16), 32 * 128 * 128, dtype=torch.int32)))

    def test_the_proof_at_start_sees_it(self):
        self.assertEqual(interpreter.prove(), "")
        interpreter.without_correction()
        self.assertIn("tl.dot of bf16 is wrong", interpreter.prove())

    def test_every_narrow_number_widens_exactly(self):
        for dtype in (torch.float16, torch.bfloat16, E4M3, E5M2):
            with self.subTest(dtype):
                every = torch.arange(1 << 8 * dtype.itemsize).to({1: torch.uint8, 2: torch.uint16}[dtype.itemsize]).view(dtype)
                self.assertTrue(same(convert(every, torch.float32), every.to(torch.float32)))

    def test_conversions_round_to_nearest_even(self):
        for dtype in (torch.float16, torch.bfloat16, E4M3, E5M2):
            with self.subTest(dtype):
                every = torch.arange(1 << 8 * dtype.itemsize).to({1: torch.uint8, 2: torch.uint16}[dtype.itemsize]).view(dtype).to(torch.float32)
                ordered = every[every.isfinite()].sort().values
                halves = ordered[:-1] / 2 + ordered[1:] / 2
                near = torch.cat((ordered, halves, torch.nextafter(halves, halves + 1), torch.nextafter(halves, halves - 1)))
                self.assertTrue(same(convert(near, dtype), near.to(dtype)))

    def test_without_the_correction_bf16_truncates(self):
        interpreter.without_correction()
        self.assertEqual(convert(torch.tensor([1.0 + 2**-8 + 2**-10]), torch.bfloat16).item(), 1.0)
        interpreter.correct()
        self.assertEqual(convert(torch.tensor([1.0 + 2**-8 + 2**-10]), torch.bfloat16).item(), 1.0 + 2**-7)


if __name__ == "__main__":
    unittest.main()
