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

from client import OPERATORS

import compile_kernels
import implementation
from described import described
from specs import NAMES, compiled_sizes, spec_of

SHARED_BYTES = {"sm_90": 227 << 10}
"""What a block may ask for."""

if os.environ.get("TRIAD_TEST_LONG"):
    SHARED_BYTES |= {"sm_75": 64 << 10, "sm_80": 163 << 10, "sm_86": 99 << 10, "sm_89": 99 << 10,
                     "sm_100": 227 << 10, "sm_120": 99 << 10}


class Compiles(unittest.TestCase):
    def test_every_kernel_compiles(self):
        for arch, most in SHARED_BYTES.items():
            with self.subTest(arch):
                self.compile(arch, most)

    def compile(self, arch: str, most: int):
        """Every kernel compiles for one architecture and fits into a block's shared memory, but for what the
        rows decline."""
        environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
        done = subprocess.run([sys.executable, str(Path(__file__).with_name("compile_kernels.py")), arch],
                              env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        compiled = [line for line in lines if "kernel" in line]
        self.assertEqual([line for line in compiled if not line["shared_bytes"] <= most], [])
        declined = {line["op"] for line in lines if "declined" in line} - {line["op"] for line in compiled}
        # A row may decline some sizes of [[compile]], in its own words; that all kernels compile shows below.
        own = {line["row"] for line in lines if "row" in line and line["declined"].startswith(
            f"{line['op']}/{line['row']}: ")}
        self.assertEqual([line for line in lines if "declined" in line and line["row"] not in own
                          and "needs a GPU of compute capability" not in line["declined"]], [])
        self.assertTrue(not declined or int(arch.removeprefix("sm_")) < 90,
                        f"{arch}: {declined} compile nothing")
        paths = [path for path in OPERATORS.glob("*.py") if path.stem not in declined]
        bridge = Path(implementation.__file__).parent
        paths += [bridge / f"{family}.py" for family in compile_kernels.FAMILIES]
        written = {name for path in paths
                   for name in re.findall(r"^def (_\w+_kernel)\(", path.read_text(), re.MULTILINE)}
        self.assertEqual(written ^ {line["kernel"] for line in compiled}, set(),
                         "kernels that no call of [[compile]] reached")
        self.assertGreater(len(written), 8)


class Declines(unittest.TestCase):
    def test_a_gpu_that_is_too_old_is_named(self):
        """A row says which compute capability it needs and which one is here."""
        told = 0
        for op in NAMES:
            size, _ = compiled_sizes(op)[0]
            inputs = spec_of(op)["inputs"]
            tensors = described([compile_kernels.tensor_of(size, t, "contiguous") for t in inputs])
            for row in compile_kernels.load(op, []).IMPLEMENTATIONS:
                if not row.name.startswith("triton/") or not row.accepts:
                    continue
                with self.subTest(op=op, row=row.name):
                    def asked(capability, row=row, tensors=tensors, size=size):
                        with unittest.mock.patch.object(implementation, "capability",
                                                        lambda device: capability):
                            return row.accepts("forward", *tensors, **size.attributes)
                    why = asked((3, 0))
                    self.assertIsNone(asked(None))
                    if why is None:
                        continue
                    found = re.search(r"needs a GPU of compute capability (\d+)\.(\d+) or newer, this one "
                                      r"has 3\.0", why)
                    self.assertTrue(found, why)
                    told += 1
                    least = int(found[1]), int(found[2])
                    self.assertIsNone(asked(least))
                    self.assertIsNotNone(asked((least[0], least[1] - 1) if least[1] else (least[0] - 1, 9)))
        self.assertGreaterEqual(told, 2)


if __name__ == "__main__":
    unittest.main()
