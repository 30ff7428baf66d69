"""The short ways of the corrected interpreter give what Triton's own, the long ones, give."""

from __future__ import annotations

import contextlib
import itertools
import os
import unittest
import unittest.mock

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import client  # noqa: E402, F401  (puts pybridge on sys.path)

import interpreter  # noqa: E402
import interpreter_fast_paths  # noqa: E402
import interpreter_operators  # noqa: E402


@triton.jit
def _kernel(x):
    return tl.sum(x, axis=0)


_OPERANDS = (tl.float32, tl.int32, tl.int64, tl.int1, tl.float16, tl.bfloat16, tl.uint8, tl.uint32,
             tl.float64, tl.pointer_type(tl.float32))
_OPERATIONS = ("add", "truediv", "mod", "less_than", "and_")


def _made(operand):
    """A number of Python, or a value of small numbers from 1 on."""
    if not isinstance(operand, tuple):
        return operand
    dtype, shape = operand
    of = interpreter.interpreter._get_np_dtype(dtype)
    count = max(1, torch.Size(shape).numel())
    data = (torch.arange(count).numpy() % 3 + 1).astype(of).reshape(shape or 1)
    handle = interpreter.interpreter.TensorHandle(data, dtype)
    return tl.tensor(handle, tl.block_type(dtype, list(shape)) if shape else dtype)


def _told(operation: str, left, right) -> tuple:
    """The type and bits of a result, or the complaint."""
    semantic = interpreter.interpreter.interpreter_semantic
    more = (False,) if operation == "add" else ()
    try:
        value = getattr(semantic, operation)(_made(left), _made(right), *more)
    except Exception as e:
        return type(e), str(e)
    return value.type.name, value.handle.data.shape, value.handle.data.dtype, value.handle.data.tobytes()


class ShortWays(unittest.TestCase):
    def setUp(self):
        interpreter.correct()
        self.addCleanup(interpreter.correct)

    def test_short_ways_are_the_long_ones(self):
        """Operations on operands of every kind: the same bits, dtype and shape, or the same complaint."""
        scope = interpreter.interpreter._patch_lang(_kernel.fn)  # as within a launch
        self.addCleanup(scope.restore)
        short = [(owner, name) for owner, name, _ in interpreter_fast_paths.CORRECTIONS]
        long = {(owner, name): function for owner, name, function in interpreter._ORIGINALS}
        operands = [-1, 0, 1, 2**31, -2**31, 2**40, 1.5, 0.0, 1.0, -0.0, 1e300, float("nan"), True]
        operands += itertools.product(_OPERANDS, ((), (4,), (2, 4)))
        said = wrong = 0
        for left, right in itertools.product(operands, operands):
            if not isinstance(left, tuple) and not isinstance(right, tuple):
                continue
            for operation in _OPERATIONS:
                got = _told(operation, left, right)
                with contextlib.ExitStack() as stack:
                    for place in short:
                        stack.enter_context(unittest.mock.patch.object(*place, long[place]))
                    want = _told(operation, left, right)
                self.assertEqual(got, want, f"{operation} of {left} and {right}")
                said, wrong = said + 1, wrong + isinstance(want[1], str)
        self.assertGreater(said - wrong, 1000)
        self.assertGreater(wrong, 1000)

    def test_short_operators_are_the_long_ones(self):
        """Operators between values and numbers, and between a product and a value: the same bits, dtype and
        shape, or the same complaint."""
        plain, semantic = dict(vars(tl.tensor)), interpreter.interpreter.interpreter_semantic
        scope = interpreter.interpreter._patch_lang(_kernel.fn)  # as within a launch
        self.addCleanup(scope.restore)
        operands = [-1, 0, 3, 2**31, -2**31, 1.5, 0.0, -0.0, 1e300, float("nan"), True, slice(None)]
        operands += itertools.product(_OPERANDS, ((), (4,), (2, 4), (2, 1), (8,)))
        operands += [(slice(None), None), (None, slice(None)), (None, None), (None, slice(0, 2)), (None, 0)]
        said = wrong = 0

        def told(way, left, right) -> tuple:
            try:
                value = way(left, right)
            except Exception as e:
                return type(e), str(e)
            if value is NotImplemented:
                return value, ""
            data = value.handle.data
            return (value.type.name, value.dtype.name, [n.value for n in value.shape], value.numel.value,
                    value.handle.dtype.name, data.shape, data.dtype, data.tobytes())

        values = [x for x in operands if isinstance(x, tuple) and x[0] in _OPERANDS]
        for left, right in itertools.product(values, operands):
            for operation in interpreter_operators.SHORT_WAYS:
                a = _made(left)
                b = _made(right) if right in values else right
                got = told(getattr(tl.tensor, operation), a, b)
                want = told(lambda a, b: plain[operation](a, b, _semantic=semantic), a, b)
                self.assertEqual(got, want, f"{operation} of {left} and {right}")
                said, wrong = said + 1, wrong + isinstance(want[0], type)
        self.assertGreater(said - wrong, 10000)
        self.assertGreater(wrong, 10000)
        for shapes in itertools.product([(), (4,), (2, 4), (2, 1)], repeat=3):
            a, b, c = (_made((tl.float32, shape)) * (1 / 3) for shape in shapes)
            got = told(lambda a, b: a * b + c, a, b)
            want = told(lambda a, b: plain["__add__"](plain["__mul__"](a, b, _semantic=semantic), c,
                                                      _semantic=semantic), a, b)
            self.assertEqual(got, want, f"{shapes}")

    def test_short_casts_are_the_long_ones(self):
        """Every number of 16 bits as fp32, and numbers of fp32 that 16 bits do not hold, as blocks and as
        scalars: the same type and bits, or the same complaint."""
        semantic = interpreter.interpreter.interpreter_semantic
        handle_of = interpreter.interpreter.TensorHandle
        narrow = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32).to(torch.int16).numpy()
        wide = torch.randn(1 << 12, generator=torch.Generator().manual_seed(6)).numpy() * 1e5
        values = [(tl.float16, narrow.view("float16")), (tl.bfloat16, narrow.view("uint16")),
                  (tl.float32, wide)]
        for (dtype, data), target, mode in itertools.product(
                values, (tl.float16, tl.bfloat16, tl.float32, tl.int32), (None, "rtne", "rtz")):
            for part, kind in ((data, tl.block_type(dtype, [data.size])), (data[1000:1001], dtype)):
                said = []
                for put in (interpreter.correct, self._with_long_ways):
                    put()
                    try:
                        value = semantic.cast(tl.tensor(handle_of(part, dtype), kind), target, mode)
                        said.append((value.type.name, value.handle.data.dtype, value.handle.data.tobytes()))
                    except Exception as e:
                        said.append((type(e), str(e)))
                self.assertEqual(*said, f"{dtype} as {target}, {mode}")

    @staticmethod
    def _with_long_ways() -> None:
        short = [(owner, name) for owner, name, _ in interpreter_fast_paths.CORRECTIONS]
        for owner, name, function in interpreter._ORIGINALS:
            if (owner, name) in short:
                setattr(owner, name, function)


if __name__ == "__main__":
    unittest.main()
