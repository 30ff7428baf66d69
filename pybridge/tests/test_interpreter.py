"""The corrections of Triton's interpreter: right with them, and shown to be wrong without."""

from __future__ import annotations

import os
import unittest
import unittest.mock

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.language import core  # noqa: E402
from triton.language.extra import libdevice  # noqa: E402

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


@triton.jit
def _row(x, keep: tl.constexpr):
    return core.expand_dims(tl.sum(x * 2, axis=1, keep_dims=keep), 0)


@triton.jit
def _shapes_kernel(x_ptr, y_ptr, n, ROWS: tl.constexpr, COLS: tl.constexpr):
    i, j = tl.arange(0, ROWS), tl.arange(0, COLS)
    x = tl.load(x_ptr + i[:, None] * COLS + j[None, :])
    most = tl.max(x, axis=0) + tl.zeros((COLS,), x.dtype) + tl.full([1], n, tl.float32)
    row = tl.sum(_row(x, False), axis=0)
    y = tl.where(x > 0, most[None, :], row[:, None]) - x.shape[1]
    tl.store(y_ptr + i[:, None] * COLS + j[None, :], y)


@triton.jit
def _multiply_add_kernel(x_ptr, y_ptr, z_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y, z = tl.load(x_ptr + i), tl.load(y_ptr + i), tl.load(z_ptr + i)
    tl.store(out_ptr + i, x * y + z)
    tl.store(out_ptr + N + i, x * y - z)
    tl.store(out_ptr + 2 * N + i, z - x * y)


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


@triton.jit
def _switched_kernel(x, y, doubled, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    if doubled:
        value = value * 2
    tl.store(y + at, value)


@triton.jit
def _integer_sum_kernel(x_ptr, y_ptr, N: tl.constexpr):
    tl.store(y_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, N)), 0))


class Interpreter(unittest.TestCase):
    def setUp(self):
        interpreter.correct()
        self.addCleanup(interpreter.correct)

    def test_what_is_prepared_once(self):
        """Blocks of several shapes, and functions that are called from a kernel, which see other modules than
        it does: the same bits as with the interpreter as it is. After a launch nothing of it is left."""
        x = torch.randn(8, 16, generator=torch.Generator().manual_seed(5))

        def run() -> torch.Tensor:
            y = torch.empty_like(x)
            for _ in range(2):
                _shapes_kernel[(1,)](x, y, 3, ROWS=8, COLS=16)
            return y

        before = {name: getattr(tl, name) for name in ("sum", "load", "arange", "range", "static_assert")}
        members = dict(vars(tl.tensor))
        got = run()
        self.assertEqual(before, {name: getattr(tl, name) for name in before})
        self.assertEqual({n: v for n, v in members.items() if n != "__init__"},
                         {n: v for n, v in vars(tl.tensor).items() if n != "__init__"})
        interpreter.without_correction()
        self.addCleanup(interpreter.correct)
        self.assertTrue(torch.equal(got, run()))

    def test_a_file_that_turns_the_interpreter_off(self):
        interpreter.correct()
        with unittest.mock.patch.dict("os.environ", {"TRITON_INTERPRET": "0"}):
            self.assertTrue(triton.knobs.runtime.interpret)

    def test_shapes_that_are_none(self):
        """What is no shape is refused as before, and what is one has the same name and sizes."""
        for shape in ([], [3], [4, 16], [2.0], [True], [tl.constexpr(8)], ["8"], [1 << 21], tl.tuple([4, 8]),
                      tl.tuple([tl.constexpr(8)])):
            said = []
            for put in (interpreter.without_correction, interpreter.correct):
                put()
                try:
                    made = tl.block_type(tl.float32, shape)
                    said.append((made.name, made.shape.values, made.numel, made.scalar))
                except Exception as e:
                    said.append((type(e), str(e)))
            self.assertEqual(*said)

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
        self.assertTrue(torch.equal(product(a, b, torch.int32),
                                    torch.full((16, 16), 32 * 128 * 128, dtype=torch.int32)))

    def test_sums_of_integers_wrap(self):
        x = torch.tensor([2**31 - 1, 5, -7, 2**31 - 9] * 4, dtype=torch.int32)
        for dtype in (torch.int32, torch.uint32, torch.int64):
            with self.subTest(dtype):
                values = x.to(dtype)
                y = torch.zeros(1, dtype=dtype)
                _integer_sum_kernel[(1,)](values, y, N=16)
                bits_of = 8 * dtype.itemsize
                self.assertEqual(y.item() % 2**bits_of, sum(values.tolist()) % 2**bits_of)
        interpreter.without_correction()
        with self.assertRaisesRegex(Exception, "out of bounds", msg="right without the correction: drop it"):
            _integer_sum_kernel[(1,)](x, torch.zeros(1, dtype=torch.int32), N=16)

    def test_a_grid_may_be_a_list(self):
        x = torch.arange(300, dtype=torch.float32)
        for grid in ([3], lambda meta: [triton.cdiv(300, meta["BLOCK"])]):
            y = torch.zeros(300)
            _convert_kernel[grid](x, y, 300, BLOCK=128)
            self.assertTrue(torch.equal(x, y))
        self.addCleanup(interpreter.correct)
        interpreter.without_correction()
        with self.assertRaisesRegex(TypeError, "concatenate list"):
            _convert_kernel[[3]](x, y, 300, BLOCK=128)

    def test_a_bool_is_an_argument(self):
        x = torch.arange(16.0)
        for doubled in (True, False):
            y = torch.empty_like(x)
            _switched_kernel[(1,)](x, y, doubled, N=16)
            self.assertTrue(torch.equal(y, 2 * x if doubled else x))
        interpreter.without_correction()
        with self.assertRaises(ValueError, msg="right without the correction: drop it"):
            _switched_kernel[(1,)](x, torch.empty_like(x), True, N=16)

    def test_the_proof_at_start_sees_it(self):
        self.assertEqual(interpreter.prove(), "")
        interpreter.without_correction()
        self.assertIn("tl.dot of bf16 is wrong", interpreter.prove())

    def test_every_narrow_number_widens_exactly(self):
        for dtype in (torch.float16, torch.bfloat16, E4M3, E5M2):
            with self.subTest(dtype):
                unsigned = {1: torch.uint8, 2: torch.uint16}[dtype.itemsize]
                every = torch.arange(1 << 8 * dtype.itemsize).to(unsigned).view(dtype)
                self.assertTrue(same(convert(every, torch.float32), every.to(torch.float32)))

    def test_conversions_round_to_nearest_even(self):
        for dtype in (torch.float16, torch.bfloat16, E4M3, E5M2):
            with self.subTest(dtype):
                every = torch.arange(1 << 8 * dtype.itemsize).to({1: torch.uint8,
                                                                  2: torch.uint16}[dtype.itemsize]).view(
                                                                      dtype).to(torch.float32)
                ordered = every[every.isfinite()].sort().values
                halves = ordered[:-1] / 2 + ordered[1:] / 2
                near = torch.cat((ordered, halves, torch.nextafter(halves, halves + 1),
                                  torch.nextafter(halves, halves - 1)))
                self.assertTrue(same(convert(near, dtype), near.to(dtype)))

    def test_without_the_correction_bf16_truncates(self):
        interpreter.without_correction()
        self.assertEqual(convert(torch.tensor([1.0 + 2**-8 + 2**-10]), torch.bfloat16).item(), 1.0)
        interpreter.correct()
        self.assertEqual(convert(torch.tensor([1.0 + 2**-8 + 2**-10]), torch.bfloat16).item(), 1.0 + 2**-7)

    def test_bf16_is_computed_with_rounded_once(self):
        a, b = (torch.randn(256, generator=torch.Generator().manual_seed(i)).bfloat16() for i in (1, 2))
        a[:4], b[:4] = torch.tensor([float("nan"), float("inf"), -0.0, 3e38]).bfloat16(), torch.ones(4)
        for name, want in BF16.items():
            with self.subTest(name):
                right = want(a, b)
                y = torch.empty(256, dtype=right.dtype)
                _bf16_kernel[(1,)](a, b, y, N=256, WHAT=name)
                self.assertTrue(same(y, right) if right.dtype != torch.int32 else torch.equal(y, right))

    def test_without_the_correction_bf16_is_not_computed_with(self):
        interpreter.without_correction()
        a = torch.full((256,), -1.5, dtype=torch.bfloat16)
        for name, want in BF16.items():
            with self.subTest(name):
                right = want(a, a + 1)
                y = torch.empty(256, dtype=right.dtype)
                try:
                    _bf16_kernel[(1,)](a, a + 1, y, N=256, WHAT=name)
                except Exception:
                    continue
                self.assertFalse(torch.equal(y, right), "right without the correction: drop it")

    def test_bf16_and_integers(self):
        whole = torch.tensor([0, 1, -2, 257, 1000003, -70000], dtype=torch.int32)
        self.assertTrue(same(convert(whole, torch.bfloat16), whole.to(torch.bfloat16)))
        narrow = torch.tensor([0.0, 1.5, -2.75, 300.0]).to(torch.bfloat16)
        self.assertTrue(torch.equal(convert(narrow, torch.int32), narrow.to(torch.int32)))

    def test_sums_of_bf16_round_every_step(self):
        x = torch.randn(4, 8, generator=torch.Generator().manual_seed(3)).to(torch.bfloat16)
        y = torch.empty(4, dtype=torch.bfloat16)
        _sum_kernel[(1,)](x, y, M=4, N=8)
        want = x
        while want.shape[1] > 1:
            half = want.shape[1] // 2
            want = want[:, :half] + want[:, half:]
        self.assertTrue(same(y, want[:, 0].contiguous()))

    def test_a_product_that_is_added_to_is_not_rounded(self):
        for dtype in (torch.float32, torch.float16):
            x = torch.linspace(1.1, 7.3, 8).to(dtype)
            y = torch.linspace(-3.7, 9.9, 8).to(dtype)
            z = -(x * y)
            exact = x.double() * y.double()
            for fuses, default, option in (
                    (True, "0", {"enable_fp_fusion": True}), (False, "1", {"enable_fp_fusion": False}),
                    (True, "1", {}), (False, "0", {})):
                out = torch.empty(24, dtype=dtype)
                with unittest.mock.patch.dict(os.environ, TRITON_DEFAULT_FP_FUSION=default):
                    _multiply_add_kernel[(1,)](x, y, z, out, N=8, **option)
                product = exact if fuses else (x * y).double()
                want = torch.cat((product + z.double(), product - z.double(), z.double() - product)).to(dtype)
                torch.testing.assert_close(out, want, rtol=0, atol=0)
            self.assertTrue((exact + z.double()).any())

    def test_a_float_is_a_scalar_of_fp32(self):
        x = torch.randn(64, generator=torch.Generator().manual_seed(4)).to(torch.float16)
        y = torch.empty(64, dtype=torch.float32)
        _scale_kernel[(1,)](x, y, 0.1, 3, N=64)
        want = x.float() * torch.tensor(0.1) + 3 + sum(range(4))  # fp16 times fp32 is fp32
        self.assertTrue(torch.equal(y, want))

    def test_libdevice(self):
        x = torch.linspace(-2, 2, 64)
        y = torch.empty(64)
        _libdevice_kernel[(1,)](x, y, N=64)
        torch.testing.assert_close(y, torch.tanh(x) + torch.erf(x) + x.abs().pow(1.5), rtol=1e-6, atol=1e-6)

    def test_functions_as_members(self):
        x = torch.linspace(-2, 2, 64)
        y = torch.empty(64)
        _members_kernel[(1,)](x, y, N=64)
        want = x.exp().sqrt() + x.abs() + x.exp().sum().log()
        torch.testing.assert_close(y, want, rtol=1e-6, atol=1e-6)

    def test_libdevice_rounds_to_integers(self):
        x = torch.tensor([0.5, 1.5, -2.5, 2.6, 3e9, -3e9, float("nan"), float("inf")])
        narrow, wide = torch.empty(8, dtype=torch.int32), torch.empty(8, dtype=torch.int64)
        _integers_kernel[(1,)](x, narrow, wide, N=8)
        most = 2**31 - 1
        self.assertEqual(narrow.tolist(), [0, 2, -2, 3, most, -most - 1, 0, most])
        self.assertEqual(wide.tolist(), [0, 2, -2, 3, 3 * 10**9, -3 * 10**9, 0, 2**63 - 1])

    def test_libdevice_rounds_halves_away_from_zero(self):
        x = torch.tensor([-2.5, -0.5, 0.49999997, 0.5, 1.5, 2.4999998, float("-inf"), float("nan")])
        y = torch.empty_like(x)
        _round_kernel[(1,)](x, y, N=8)
        want = torch.tensor([-3.0, -1.0, 0.0, 1.0, 2.0, 2.0, float("-inf"), float("nan")])
        torch.testing.assert_close(y, want, rtol=0, atol=0, equal_nan=True)


BF16 = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "neg": lambda a, b: -a,
    "less": lambda a, b: (a < b).to(torch.int32), "where": lambda a, b: torch.where(a > b, a, b),
    "scaled": lambda a, b: a * 0.5 + b,
}


@triton.jit
def _bf16_kernel(a_ptr, b_ptr, y_ptr, N: tl.constexpr, WHAT: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(a_ptr + i)
    b = tl.load(b_ptr + i)
    if WHAT == "add":
        y = a + b
    elif WHAT == "sub":
        y = a - b
    elif WHAT == "mul":
        y = a * b
    elif WHAT == "neg":
        y = -a
    elif WHAT == "less":
        y = (a < b).to(tl.int32)
    elif WHAT == "where":
        y = tl.where(a > b, a, b)
    else:
        y = a * 0.5 + b
    tl.store(y_ptr + i, y)


@triton.jit
def _sum_kernel(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    x = tl.load(x_ptr + rows[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(y_ptr + rows, tl.sum(x, axis=1))


@triton.jit
def _scale_kernel(x_ptr, y_ptr, scale, shift, N: tl.constexpr):
    i = tl.arange(0, N)
    y = tl.load(x_ptr + i) * scale + shift.to(tl.float32)
    for k in range(4):
        y += k.to(tl.float32)
    tl.store(y_ptr + i, y)


@triton.jit
def _round_kernel(x_ptr, y_ptr, N: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, N), libdevice.round(tl.load(x_ptr + tl.arange(0, N))))


@triton.jit
def _members_kernel(x_ptr, y_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(y_ptr + tl.arange(0, N), x.exp().sqrt() + x.abs() + x.exp().sum(0).log())


@triton.jit
def _integers_kernel(x_ptr, narrow_ptr, wide_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(narrow_ptr + tl.arange(0, N), libdevice.float2int_rn(x))
    tl.store(wide_ptr + tl.arange(0, N), libdevice.llrint(x))


@triton.jit
def _libdevice_kernel(x_ptr, y_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(y_ptr + tl.arange(0, N), libdevice.tanh(x) + libdevice.erf(x) + libdevice.pow(tl.abs(x), 1.5))


if __name__ == "__main__":
    unittest.main()
