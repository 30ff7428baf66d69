"""CUDA kernels that read parts of a wider tensor where they lie, in the emulator."""

import os
import tempfile
import unittest

import triad

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

from triad.torch import ops


def setUpModule():
    global data
    data = tempfile.TemporaryDirectory()
    os.environ["XDG_DATA_HOME"] = data.name


def tearDownModule():
    data.cleanup()


def draw(*shape, dtype):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1)).to(dtype)


class Parts(unittest.TestCase):
    def test_parts_of_a_wider_tensor(self):
        """What one product makes and is then split, as a transformer has it, is read where it lies: nothing
        is copied for the kernel."""
        def run(function, signature, tensors, attributes):
            values = signature.bind(tensors, attributes, signature.inputs)
            results = signature.results(values, dtype, attributes)
            vec = function._implementations.named("cuda/vec", torch.device("cpu"))
            return vec.run(signature.direction, signature.case_dtype(tensors, signature.inputs), tensors,
                           attributes, results)
        for dtype in (torch.float32, torch.bfloat16):
            gate, up, dy = draw(30, 96, dtype=dtype).chunk(3, -1)
            q, k, _ = draw(2, 7, 8, 16, dtype=dtype).split((4, 2, 2), 2)
            angles = torch.outer(torch.arange(7.0), torch.logspace(0, -2, 8))
            cos, sin = angles.cos(), angles.sin()
            for function, direction, tensors in (
                (ops.swiglu, ops.swiglu._forward, (gate, up)),
                (ops.rope, ops.rope._backward, (cos, sin, q, k)),
                (ops.swiglu, ops.swiglu._backward, (gate, up.contiguous(), dy)),
                (ops.rope, ops.rope._forward, (q, k.contiguous(), cos, sin)),
            ):
                with self.subTest(function.name, direction=direction.direction, dtype=dtype):
                    attributes = {"interleaved": False, "offset": 0} if function is ops.rope else {}
                    found = run(function, direction, tensors, attributes)
                    packed = run(function, direction, [t.contiguous() for t in tensors], attributes)
                    torch.testing.assert_close(found, packed, rtol=0, atol=0)
                    apart = [torch.stack((t, t), -1)[..., 0] for t in tensors]
                    with self.assertRaisesRegex(triad.UsageError, "columns of gate|elements of a head of"):
                        run(function, direction, apart, attributes)


if __name__ == "__main__":
    unittest.main()
