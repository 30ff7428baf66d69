"""What the interpreter does as a GPU does with memory that nobody wrote or owns, and with NaN."""

from __future__ import annotations

import os
import tempfile
import textwrap
import unittest
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.tools.tensor_descriptor import TensorDescriptor  # noqa: E402

import client  # noqa: E402, F401  (puts pybridge on sys.path)

import interpreter  # noqa: E402
import tensors  # noqa: E402

NAN, INF = float("nan"), float("inf")
CPU = torch.device("cpu")


@triton.jit
def _copy_kernel(x_ptr, y_ptr, first, n, shift, N: tl.constexpr, HOW: tl.constexpr):
    """Copies x[shift + i] for first <= i < n; HOW says how the load masks the other lanes off."""
    i = tl.arange(0, N)
    mask = (i >= first) & (i < n)
    if HOW == "masked":
        x = tl.load(x_ptr + shift + i, mask=mask)
    elif HOW == "other":
        x = tl.load(x_ptr + shift + i, mask=mask, other=7)
    elif HOW == "one, other 0":
        x = tl.load(x_ptr + shift, mask=n > 0, other=0)
    elif HOW == "block":
        block = tl.make_block_ptr(x_ptr, shape=(n,), strides=(1,), offsets=(0,), block_shape=(N,), order=(0,))
        x = tl.load(block, boundary_check=(0,))
    elif HOW == "block unchecked":
        x = tl.load(tl.make_block_ptr(x_ptr, shape=(n,), strides=(1,), offsets=(0,), block_shape=(N,),
                                      order=(0,)))
    elif HOW == "dropped later":
        x = tl.where(mask, tl.load(x_ptr + shift + i), 0)
    elif HOW == "atomic":
        x = tl.atomic_add(x_ptr + shift + i, 1, mask=mask)
    elif HOW == "unmasked atomic":
        x = tl.atomic_add(x_ptr + shift + i, 1)
    elif HOW == "compared":
        x = tl.atomic_cas(x_ptr + shift + i, i, i)
    elif HOW == "one":
        x = tl.load(x_ptr + shift)
    tl.store(y_ptr + i, x)


@triton.jit
def _descriptor_kernel(y, x_ptr, row, first, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Stores the row-major numbers of x [ROWS, COLS] at (row, first) of what y describes."""
    i = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    y.store([row, first], tl.load(x_ptr + i))


@triton.jit
def _store_kernel(x_ptr, n, shift, N: tl.constexpr, MASKED: tl.constexpr):
    i = tl.arange(0, N)
    if MASKED:
        tl.store(x_ptr + shift + i, i.to(x_ptr.dtype.element_ty), mask=i < n)
    else:
        tl.store(x_ptr + shift + i, i.to(x_ptr.dtype.element_ty))


@triton.jit
def _chosen_kernel(a_ptr, b_ptr, y_ptr, na, nb, N: tl.constexpr):
    """Reads a[i] in even lanes and b[i] in odd ones."""
    i = tl.arange(0, N)
    pointer = tl.where(i % 2 == 0, a_ptr + i, b_ptr + i)
    tl.store(y_ptr + i, tl.load(pointer, mask=i < tl.where(i % 2 == 0, na, nb), other=0))


@triton.jit
def _table_kernel(table_ptr, y_ptr, shift, N: tl.constexpr):
    """Reads two tensors whose addresses are in a table."""
    i = tl.arange(0, N)
    for which in range(2):
        x_ptr = tl.load(table_ptr + which).to(tl.pointer_type(tl.float32))
        tl.store(y_ptr + which * N + i, tl.load(x_ptr + i + shift))


@triton.jit
def _extremes_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr, PROPAGATE: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    how: tl.constexpr = tl.PropagateNan.ALL if PROPAGATE else tl.PropagateNan.NONE
    tl.store(out_ptr + i, tl.maximum(x, y, propagate_nan=how))
    tl.store(out_ptr + N + i, tl.minimum(x, y, propagate_nan=how))
    tl.store(out_ptr + 2 * N + i, tl.clamp(x, -1.0, 1.0, propagate_nan=how))


@triton.jit
def _plain_extremes_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    tl.store(out_ptr + i, tl.maximum(x, y))
    tl.store(out_ptr + N + i, tl.minimum(x, y))
    tl.store(out_ptr + 2 * N + i, tl.clamp(x, -1.0, 1.0))


@triton.jit
def _reduced_kernel(x_ptr, value_ptr, index_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(value_ptr, tl.max(x, axis=0))
    tl.store(value_ptr + 1, tl.min(x, axis=0))
    largest, at = tl.max(x, axis=0, return_indices=True)
    smallest, low = tl.min(x, axis=0, return_indices=True)
    tl.store(value_ptr + 2, largest)
    tl.store(value_ptr + 3, smallest)
    tl.store(index_ptr, at)
    tl.store(index_ptr + 1, low)


def copied(x: torch.Tensor, how: str, first: int = 0, n: int = 8, shift: int = 0) -> torch.Tensor:
    y = torch.zeros(8, dtype=x.dtype)
    _copy_kernel[(1,)](x, y, first, n, shift, N=8, HOW=how)
    return y


class Memory(unittest.TestCase):
    def setUp(self):
        interpreter.correct()
        self.addCleanup(interpreter.correct)

    def outside(self, says: str):
        return self.assertRaisesRegex(Exception, says)

    def test_lanes_that_nothing_is_said_of_hold_poison(self):
        for dtype, held in ((torch.float64, NAN), (torch.float32, NAN), (torch.float16, NAN),
                            (torch.bfloat16, NAN), (torch.float8_e4m3fn, NAN), (torch.float8_e5m2, NAN),
                            (torch.int64, 0x5B5B5B5B5B5B5B5B), (torch.int32, 0x5B5B5B5B), (torch.int8, 0x5B),
                            (torch.uint8, 0x5B), (torch.bool, True)):
            with self.subTest(dtype):
                x = torch.ones(5).to(dtype)
                for how in ("masked", "block"):
                    y = copied(x, how, n=5)
                    self.assertTrue(torch.equal(y[:5].double(), torch.ones(5).double()), how)
                    rest = y[5:].double() if dtype.is_floating_point else y[5:]
                    self.assertTrue(bool(rest.isnan().all()) if held != held else rest.tolist() == [held] * 3)
        y = copied(torch.ones(5), "other", n=5)
        self.assertEqual(y.tolist(), [1.0] * 5 + [7.0] * 3)
        counts = torch.ones(5, dtype=torch.int32)
        self.assertEqual(copied(counts, "atomic", n=5).tolist(), [1] * 5 + [0x5B5B5B5B] * 3)
        self.assertEqual(counts.tolist(), [2] * 5)
        interpreter.without_correction()
        self.assertEqual(copied(torch.ones(5), "masked", n=5).tolist(), [1.0] * 5 + [0.0] * 3)

    def test_a_load_ends_where_its_tensor_does(self):
        x = torch.arange(8.0)
        self.assertTrue(torch.equal(copied(x, "dropped later"), x))
        for how in ("dropped later", "block unchecked"):
            with self.outside(r"tl.load reads element 7 of x_ptr, which has 7; 1 of 8"):
                copied(torch.arange(7.0), how)
        for shift, element in ((-1, -1), (1, 8), (1 << 20, (1 << 20))):
            with self.outside(f"tl.load reads element {element} of x_ptr, which has 8"):
                copied(x, "dropped later", shift=shift)
        with self.outside("reads element 8 of x_ptr, which has 8'"):
            copied(x, "one", shift=8)
        for how, says in (("unmasked atomic", "an atomic operation updates element 8 of x_ptr"),
                          ("compared", "tl.atomic_cas updates element 8 of x_ptr")):
            with self.outside(says):
                copied(x.int(), how, shift=1)
        with self.outside("reads element 0 of x_ptr, which has 0"):
            copied(torch.empty(0), "one")

    def test_a_lane_that_is_masked_off_reads_nothing(self):
        x = torch.arange(5.0)
        self.assertEqual(copied(x, "other", first=3, n=8, shift=-3).tolist(), [7.0] * 3 + x.tolist())
        self.assertEqual(copied(x, "other", n=0, shift=1 << 40).tolist(), [7.0] * 8)
        self.assertEqual(copied(torch.empty(0), "other", n=0).tolist(), [7.0] * 8)
        for dtype in (torch.float32, torch.bfloat16, torch.int32):
            self.assertEqual(copied(x.to(dtype), "one, other 0", n=0).tolist(), [0] * 8)

    def test_a_store_ends_where_its_tensor_does(self):
        x = torch.zeros(8)
        with self.outside("tl.store writes element 8 of x_ptr, which has 8"):
            _store_kernel[(1,)](x, 8, 1, N=8, MASKED=False)
        self.assertEqual(x.tolist(), [0.0] * 8, "nothing is written")
        _store_kernel[(1,)](x, 7, 1, N=8, MASKED=True)
        self.assertEqual(x.tolist(), [0.0, *map(float, range(7))])
        for dtype in (torch.float16, torch.bfloat16, torch.int8, torch.bool, torch.float64):
            x = torch.zeros(9, dtype=dtype)
            _store_kernel[(1,)](x, 5, 1, N=8, MASKED=True)
            self.assertTrue(torch.equal(x[1:6], torch.arange(5).to(dtype)) and not x[6:].any())

    def test_a_descriptors_store_ends_at_a_multiple_of_16_bytes(self):
        for dtype, cols, reached in ((torch.float32, 5, 8), (torch.float32, 8, 8), (torch.float16, 5, 8),
                                     (torch.int8, 9, 16), (torch.int8, 17, 32)):
            whole = torch.zeros((4, 32), dtype=dtype)
            ones = torch.ones((4, 32), dtype=dtype)
            described = TensorDescriptor.from_tensor(whole[:3, :cols], [4, 32])
            _descriptor_kernel[(1,)](described, ones, 0, 0, ROWS=4, COLS=32)
            expected = torch.zeros((4, 32), dtype=dtype)
            expected[:3, :reached] = 1
            self.assertTrue(torch.equal(whole, expected), f"{dtype}, {cols} columns: {whole}")
        alone = torch.zeros((1, 5))
        with self.outside("a descriptor's store, .* 16 bytes .*, writes element 5 of y, which has 5; 3 of"):
            _descriptor_kernel[(1,)](TensorDescriptor(alone, [1, 5], [8, 1], [2, 8]), torch.ones(16), 0, 0,
                                     ROWS=2, COLS=8)
        self.assertFalse(alone.any(), "nothing is written")

    def test_a_tensor_is_its_storage_without_guard_bands(self):
        whole = torch.arange(16.0)
        self.assertEqual(copied(whole[4:12], "dropped later", shift=-4).tolist(), whole[:8].tolist())
        self.assertEqual(copied(whole[1::2], "dropped later", shift=1).tolist(), whole[2:10].tolist())
        buffer = tensors.Buffer("x", 32, CPU)
        x = buffer.tensor(torch.float32, (2, 4), (4, 1))
        x.copy_(torch.arange(8.0).reshape(2, 4))
        del buffer
        self.assertEqual(copied(x[1], "dropped later", shift=-4).tolist(), list(map(float, range(8))))
        for shift in (1, -1):
            with self.outside("reads element (8|-1) of x_ptr, which has 8"):
                copied(x, "dropped later", shift=shift)

    def test_a_pointer_may_be_one_of_two(self):
        a, b, y = torch.arange(8.0), torch.arange(0.0, -4.0, -1.0), torch.empty(8)
        _chosen_kernel[(1,)](a, b, y, 8, 4, N=8)
        self.assertEqual(y.tolist(), [0.0, -1.0, 2.0, -3.0, 4.0, 0.0, 6.0, 0.0])
        with self.outside("tl.load reads element 5 of b_ptr, which has 4"):
            _chosen_kernel[(1,)](tensors.Buffer("a", 32, CPU).tensor(torch.float32, (8,), (1,)),
                                 tensors.Buffer("b", 16, CPU).tensor(torch.float32, (4,), (1,)), y, 8, 8, N=8)

    def test_an_address_points_into_the_buffer_that_holds_it(self):
        buffers = [tensors.Buffer(name, 32, CPU) for name in "ab"]
        given = [b.tensor(torch.float32, (8,), (1,)) for b in buffers]
        for n, x in enumerate(given):
            x.copy_(torch.arange(8.0) + 8 * n)
        table, y = torch.tensor([x.data_ptr() for x in given]), torch.empty(16)
        _table_kernel[(1,)](table, y, 0, N=8)
        self.assertEqual(y.tolist(), list(map(float, range(16))))
        with self.outside("reads element 8 of a buffer, which has 8"):
            _table_kernel[(1,)](table, y, 1, N=8)

    def test_nan_is_dropped_unless_it_is_asked_for(self):
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            x = torch.tensor([NAN, 1.0, NAN, 3.0, -3.0, INF, -INF, 0.5], dtype=dtype)
            y = torch.tensor([2.0, NAN, NAN, -1.0, 4.0, 0.0, 0.0, 0.5], dtype=dtype)
            want = torch.cat((torch.fmax(x, y), torch.fmin(x, y), torch.fmin(torch.fmax(x, -x.new_ones(1)),
                                                                              x.new_ones(1))))
            out = torch.empty(24, dtype=dtype)
            _plain_extremes_kernel[(1,)](x, y, out, N=8)
            torch.testing.assert_close(out, want, rtol=0, atol=0, equal_nan=True)
            _extremes_kernel[(1,)](x, y, out, N=8, PROPAGATE=False)
            torch.testing.assert_close(out, want, rtol=0, atol=0, equal_nan=True)
            _extremes_kernel[(1,)](x, y, out, N=8, PROPAGATE=True)
            want = torch.cat((torch.maximum(x, y), torch.minimum(x, y), x.clamp(-1, 1)))
            torch.testing.assert_close(out, want, rtol=0, atol=0, equal_nan=True)

    def test_a_reduction_drops_nan_and_one_with_indices_keeps_the_later_value(self):
        for row, values, indices in (
                ([3.0, NAN, 1.0, 2.0], [3.0, 1.0, 2.0, 1.0], [3, 2]),
                ([3.0, 1.0, 2.0, NAN], [3.0, 1.0, NAN, NAN], [3, 3]),
                ([NAN, -INF, -INF, INF], [INF, -INF, INF, -INF], [3, 1]),
                ([3.0, 1.0, 3.0, 1.0], [3.0, 1.0, 3.0, 1.0], [0, 1])):
            with self.subTest(row):
                value, index = torch.empty(4), torch.empty(2, dtype=torch.int32)
                _reduced_kernel[(1,)](torch.tensor(row), value, index, N=4)
                torch.testing.assert_close(value, torch.tensor(values), rtol=0, atol=0, equal_nan=True)
                self.assertEqual(index.tolist(), indices)


KERNELS = """
    import torch, triton
    import triton.language as tl
    from implementation import Implementation

    @triton.autotune(configs=[triton.Config({"TIMES": 2}), triton.Config({"TIMES": 3})], key=["n"])
    @triton.jit
    def _times(x_ptr, y_ptr, n, shift, N: tl.constexpr, TIMES: tl.constexpr):
        i = tl.program_id(0) * N + tl.arange(0, N)
        x = tl.load(x_ptr + i + shift)
        tl.store(y_ptr + i, x * TIMES)

    def function(x, *, what):
        y = torch.empty_like(x)
        try:
            _times[(2,)](x, y, 8, 1 if what != "right" else 0, N=4)
        except Exception as e:
            if what == "wraps":
                raise ValueError("it has no kernel for this") from e
            if what == "catches":
                return x * 2
            raise
        return y

    IMPLEMENTATIONS = [Implementation("triton/times", function, outputs=("y",), dtypes=("fp32",))]
"""


class Reports(unittest.TestCase):
    """What a worker says of a launch."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "times.py"
        self.file.write_text(textwrap.dedent(KERNELS))
        self.client = client.Client(operators=self.file.parent, environment={"TRIAD_DEVICE": "cpu"})
        self.addCleanup(self.client.close)
        self.client.ask("load", {"op": "times"})

    def launched(self, what: str, **how):
        return self.client.run("times", "triton/times", "forward", [torch.arange(8.0)],
                               [("y", torch.float32, (8,))], what=what, **how)

    def test_an_access_outside_of_its_tensor_ends_the_call_whoever_catches_it(self):
        lines = self.file.read_text().splitlines()
        for what in ("raises", "wraps", "catches"):
            with self.subTest(what):
                reply, got = self.launched(what)
                [launch] = reply["launches"]
                self.assertEqual((launch["status"], launch["outputs"], got), ("OUT_OF_BOUNDS", [], [{}]))
                self.assertEqual(launch["message"], "tl.load reads element 8 of x_ptr, which has 8; 1 of 4 "
                                 "lanes are outside")
                where = launch["where"]
                self.assertEqual((where["kernel"], where["file"], where["block"]),
                                 ("_times", str(self.file), [1, 0, 0]))
                self.assertIn("x = tl.load", lines[where["line"] - 1])

    def test_a_launch_takes_the_configuration_that_is_asked_for_and_names_them(self):
        for order, times in (("", 2), ("configuration 1", 3), ("configuration 0", 2)):
            reply, got = self.launched("right", order=order)
            for launch, given in zip(reply["launches"], got):
                self.assertEqual(launch["configurations"], ["TIMES=2", "TIMES=3"])
                self.assertTrue(torch.equal(given["y"], torch.arange(8.0) * times), order)


if __name__ == "__main__":
    unittest.main()
