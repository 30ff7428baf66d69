"""Every Triton kernel compiles for a GPU, on a machine that has none."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

from client import OPERATORS

SHARED_BYTES = {"sm_90": 227 << 10}
"""What a block may ask for."""


class Compiles(unittest.TestCase):
    def test_every_kernel_compiles_for_sm_90(self):
        environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
        done = subprocess.run([sys.executable, str(Path(__file__).with_name("compile_kernels.py")), "sm_90"], env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line for line in lines if not line["shared_bytes"] <= SHARED_BYTES["sm_90"]], [])
        written = {name for path in OPERATORS.glob("*.py") for name in re.findall(r"^def (_\w+_kernel)\(", path.read_text(), re.MULTILINE)}
        self.assertEqual(written - {line["kernel"] for line in lines}, set(), "kernels that no call reached")
        self.assertGreater(len(written), 10)


if __name__ == "__main__":
    unittest.main()
