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
import peers
import tiers
from specs import NAMES, compiled_sizes, spec_of
from tensor_descriptions import described

SHARED_BYTES = {"sm_90": 227 << 10}
"""What a block may ask for."""

SHARED_BYTES |= {"sm_75": 64 << 10, "sm_80": 163 << 10, "sm_86": 99 << 10, "sm_89": 99 << 10,
                 "sm_100": 227 << 10, "sm_120": 99 << 10}

FILES = sorted(path for path in OPERATORS.glob("*.py") if not path.stem.endswith(peers.CUTILE))


def module_of(path: Path) -> str:
    """The module of kernels that an operator's file shares with others, "" for kernels of its own."""
    found = re.search(rf"^(?:from|import) ({'|'.join(compile_kernels.FAMILIES)})\b", path.read_text(),
                      re.MULTILINE)
    return found[1] if found else ""


def written(paths: list[Path]) -> set[str]:
    """The names of the kernels in files."""
    return {name for path in paths
            for name in re.findall(r"^def (_\w+_kernel)\(", path.read_text(), re.MULTILINE)}


class Compiles(unittest.TestCase):
    def test_every_kernel_compiles(self):
        """The fast tier compiles for sm_90 one operator of each module of kernels, and one with kernels of
        its own."""
        suite = tiers.Suite("gpu code", "pybridge/operators/implementation.py",
                            "pybridge/tests/compile_kernels.py")
        asked = 0
        for arch, most in SHARED_BYTES.items():
            files = []
            for path in FILES:
                key = f"kernels {module_of(path) or 'of its own'}" if arch == "sm_90" else ""
                if suite.covers(f"{arch} {path.stem}", key, *tiers.operator(path.stem),
                                f"pybridge/operators/{module_of(path) or path.stem}.py"):
                    files.append(path)
            if files:
                with self.subTest(arch):
                    self.compile(arch, most, files)
                    asked += 1
        self.assertGreater(asked, 0)

    def compile(self, arch: str, most: int, files: list[Path]):
        """Every kernel of operators compiles for one architecture and fits into a block's shared memory, but
        for what the rows decline."""
        environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
        script = Path(__file__).with_name("compile_kernels.py")
        done = subprocess.run([sys.executable, str(script), arch, *(path.stem for path in files)],
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
        bridge = Path(implementation.__file__).parent
        partly = {line["op"] for line in lines if "declined" in line}
        missing = arch not in ("sm_90", "sm_100")  # some rows decline GPUs that are older or have less memory
        shared = written([bridge / f"{family}.py" for family in compile_kernels.FAMILIES])
        own = written([path for path in files if path.stem not in declined])
        reached = {line["kernel"] for line in compiled}
        if missing:
            own -= written([path for path in files if path.stem in partly]) - reached
        self.assertEqual(own - reached | reached - own - shared, set(),
                         "kernels that no call of [[compile]] reached")
        if files == FILES:
            used = {module_of(path) for path in files if not missing or path.stem not in partly}
            wanted = written([bridge / f"{family}.py" for family in compile_kernels.FAMILIES
                              if family in used])
            self.assertEqual(wanted - reached, set(), "shared kernels that no call of [[compile]] reached")
            self.assertGreater(len(own | shared), 8)


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

    def test_a_gpu_with_too_little_shared_memory_is_named(self):
        """A kernel whose tiles need more than 99 KB declines GPUs that are newer and have no more."""
        for capability, why in {(9, 0): None, (11, 0): None, (12, 0): "it needs a GPU of compute capability "
                                "below 12.0, this one has 12.0"}.items():
            with unittest.mock.patch.object(implementation, "capability", lambda device, c=capability: c):
                self.assertEqual(implementation.too_old(None, "it", (9, 0), below=(12, 0)), why)


if __name__ == "__main__":
    unittest.main()
