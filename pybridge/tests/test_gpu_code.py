"""Every Triton kernel compiles for GPUs, on a machine that has none."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unittest
import unittest.mock
from pathlib import Path

import compile_kernels
import torch
from client import OPERATORS

import implementation

SHARED_BYTES = {"sm_90": 227 << 10}
"""What a block may ask for."""

if os.environ.get("TRIAD_TEST_LONG"):
    SHARED_BYTES |= {"sm_75": 64 << 10, "sm_80": 163 << 10, "sm_86": 99 << 10, "sm_89": 99 << 10, "sm_100": 227 << 10, "sm_120": 99 << 10}

DECLINED = {
    "sm_75": {"fp8_gemm", "flash_attention"},
    "sm_80": {"fp8_gemm"},
    "sm_86": {"fp8_gemm"},
}
"""Operators whose Triton rows decline a GPU for its compute capability."""


class Compiles(unittest.TestCase):
    def test_every_kernel_compiles(self):
        for arch, most in SHARED_BYTES.items():
            with self.subTest(arch):
                self.compile(arch, most)

    def compile(self, arch: str, most: int):
        """Every kernel compiles for one architecture and fits into a block's shared memory, but for what the rows decline."""
        environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
        done = subprocess.run([sys.executable, str(Path(__file__).with_name("compile_kernels.py")), arch], env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line for line in lines if not line["shared_bytes"] <= most], [])
        paths = [path for path in OPERATORS.glob("*.py") if path.stem not in DECLINED.get(arch, ())]
        written = {name for path in paths for name in re.findall(r"^def (_\w+_kernel)\(", path.read_text(), re.MULTILINE)}
        self.assertEqual(written ^ {line["kernel"] for line in lines}, set(), "kernels that no call reached, or that were to be declined")
        self.assertGreater(len(written), 8)


class Declines(unittest.TestCase):
    def test_a_gpu_that_is_too_old_is_named(self):
        """A row says which compute capability it needs and which one is here."""
        operands = torch.zeros(16, 16), torch.zeros(1), torch.zeros(16, 16), torch.zeros(1)
        heads = (torch.zeros(1, 1, 16, 64),) * 3
        for op, tensors, attributes, older, enough in (("fp8_gemm", operands, {"scaling": "tensor", "out": "bf16"}, (8, 6), (8, 9)),
                                                       ("flash_attention", heads, {"causal": False, "scale": 1.0}, (7, 5), (8, 0))):
            for row in compile_kernels.load(op, []).IMPLEMENTATIONS:
                if not row.name.startswith("triton/"):
                    continue
                with self.subTest(op=op, row=row.name):
                    with unittest.mock.patch.object(implementation, "capability", lambda device: older):
                        why = row.accepts("forward", *tensors, **attributes)
                    self.assertIn(f"needs a GPU of compute capability {enough[0]}.{enough[1]} or newer, this one has {older[0]}.{older[1]}", why)
                    for fits in (enough, None):
                        with unittest.mock.patch.object(implementation, "capability", lambda device: fits):
                            self.assertIsNone(row.accepts("forward", *tensors, **attributes))


if __name__ == "__main__":
    unittest.main()
