"""Rows of peers: here where they are installed and there is a GPU, else a sentence; nothing of them is
imported before a call."""

from __future__ import annotations

import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import torch

from client import OPERATORS, Client  # puts the bridge on sys.path: first

import implementation
import launch
import library_losses
import peers
from cases import reference_of
from implementation import Implementation
from specs import NAMES


class Missing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name, text in (("quack_of_a_test/__init__.py", ""),
                           ("quack_of_a_test/softmax.py", "IMPORTED = True\n"),
                           ("behind.pth", "import sys; sys.path_of_a_test = 1\n"),
                           ("torch.py", "raise AssertionError('the interpreter has a torch of its own')\n")):
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        path = list(sys.path)
        self.addCleanup(sys.path.__setitem__, slice(None), path)
        peers.reach.cache_clear()
        self.addCleanup(peers.reach.cache_clear)
        for name in [name for name in sys.modules if name.startswith("quack_of_a_test")]:
            del sys.modules[name]

    def test_where_it_is(self):
        here = Implementation("quack/kernel", module="quack_of_a_test.softmax")
        absent = Implementation("fa4/kernel", module="flash_of_a_test.cute.interface")
        self.assertIn("need a GPU", peers.missing("quack", here.module, False))
        self.assertEqual(peers.missing("quack", here.module, True),
                         "quack-kernels is not installed: triad setup --peers")
        peers.reach.cache_clear()
        with mock.patch.dict(os.environ, {"TRIAD_PEERS": str(self.folder)}):
            self.assertEqual(peers.missing("quack", here.module, True), "")
            self.assertEqual(peers.missing("fa4", absent.module, True),
                             "flash-attn-4 is not installed: triad setup --peers")
        self.assertEqual(sys.path_of_a_test, 1, "what installs itself by a .pth is reached")
        self.assertEqual(sys.path[-1], str(self.folder), "behind what the interpreter has itself")
        self.assertNotIn("quack_of_a_test.softmax", sys.modules)
        here.ready()
        self.assertTrue(sys.modules.pop("quack_of_a_test.softmax").IMPORTED)

    def test_imports_do_not_meet_poisoned_allocations(self):
        (self.folder / "quack_of_a_test" / "keeping.py").write_text("import torch\nempty = torch.empty\n")
        sys.path.append(str(self.folder))
        plain, seen = torch.empty, []

        def forward(x):
            import quack_of_a_test.keeping as keeping
            seen.append((keeping.empty is plain, torch.empty is plain))
            return x.clone()

        row = Implementation("quack/kernel", forward, outputs=("y",), module="quack_of_a_test.keeping")
        run = {"pass": "forward", "inputs": []}
        watch = mock.Mock(after=lambda replaced: "")
        with mock.patch("tensors.load",
                        return_value=(mock.Mock(report=list), torch.ones(2))), mock.patch("tensors.checksum",
                                                                                          return_value=0):
            launch.launch(row, __file__, None, torch.device("cpu"), {**run, "inputs": [{}]}, {},
                          {"poison": "a", "outputs": []}, watch, mock.Mock(overwritten=lambda n: ""))
        self.assertEqual(seen, [(True, False)])


class Load(unittest.TestCase):
    def test_a_cpu_has_none(self):
        client = Client(environment={"TRIAD_DEVICE": "cpu"})
        self.addCleanup(client.close)
        for op in NAMES:
            families = ({row.name.partition("/")[0] for row in reference_of(op).IMPLEMENTATIONS}
                        - {"triton", "torch"})
            if (OPERATORS / f"{op}_{peers.CUTILE}.py").exists():
                families.add(peers.CUTILE)
            reply = client.ask("load", {"op": op})
            self.assertEqual({e["name"].split("/")[0] for e in reply["implementations"]}, {"triton", "torch"})
            failed = {f["implementation"]: f for f in reply.get("failed", [])}
            self.assertEqual(set(failed), families)
            self.assertTrue(all(f["status"] == "UNAVAILABLE" and "need a GPU" in f["message"]
                                for f in failed.values()))

    def test_rows(self):
        """Each is of a peer that can be installed, says what it imports, and is right to look at."""
        seen = set()
        for op in NAMES:
            rows = reference_of(op).IMPLEMENTATIONS
            for row in rows:
                family = row.name.partition("/")[0]
                self.assertEqual(bool(row.module), family in peers.PEERS, row.name)
                if row.module:
                    seen.add(family)
                    self.assertTrue(row.forward and row.outputs)
                    self.assertEqual(bool(row.backward), bool(row.gradients), row.name)
        self.assertEqual(seen, set(peers.PEERS), "peers without a row")

    def test_compiled_rows_are_beside_peers(self):
        row = Implementation("torch/compile", compiled=True)
        for folder, gpu, interpreted, want in (("/peers", True, False, [row]), ("", True, False, []),
                                               ("/peers", False, False, []), ("/peers", True, True, [])):
            with mock.patch.dict(os.environ, {"TRIAD_PEERS": folder}), \
                    mock.patch("torch.cuda.is_available", return_value=gpu), \
                    mock.patch.object(implementation, "INTERPRETED", interpreted):
                self.assertEqual(implementation.beside_peers(row), want)

    def test_odd_rows_of_16_bits(self):
        """quack's losses copy 4 bytes at least: an odd number of 16-bit logits does not compile."""
        for classes, dtype, words in ((131, torch.bfloat16, "131 logits"), (131, torch.float16, "131 logits"),
                                      (131, torch.float32, None), (10, torch.bfloat16, None)):
            for direction in ("forward", "backward"):
                why = library_losses._accepts_quack(direction, torch.zeros(3, classes, dtype=dtype),
                                                    torch.zeros(3, dtype=torch.int64), label_smoothing=0.0)
                self.assertTrue(words in why if words else why is None, (classes, dtype, why))
        self.assertIn("smooths", library_losses._accepts_quack("forward", torch.zeros(3, 8),
                                                               label_smoothing=0.1))

    def test_aligned(self):
        x = torch.zeros(33)
        self.assertIs(implementation.aligned(x), x)
        for odd in (x[1:], torch.zeros(4, 8).T):
            copy = implementation.aligned(odd)
            self.assertEqual((copy.data_ptr() % 16, copy.is_contiguous(), copy.tolist()),
                             (0, True, odd.tolist()))


if __name__ == "__main__":
    unittest.main()
