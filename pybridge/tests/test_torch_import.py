"""torch is imported without what only compilers ask for, and whoever asks for it afterwards gets it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

import client  # noqa: F401  (puts pybridge on sys.path)

import tiers
import torch_import

BRIDGE = Path(torch_import.__file__).parent
SUITE = tiers.Suite("torch import", "pybridge/worker/torch_import.py",
                    "pybridge/user_files/own_file.py",
                    "pybridge/tests/test_torch_import.py", "requirements.txt")
"""Each import of what is left out takes seconds."""

LEFT_OUT = """
import sys
sys.path.insert(0, {bridge!r})
import bridge_folders
import torch_import
assert torch_import.without_metas()
import torch
left = [name for name in (*torch_import.LATER, torch_import.METAS) if name in sys.modules]
assert not left, left
"""


class TorchImport(unittest.TestCase):
    """Each test imports torch in a process of its own: it can be imported once."""

    def run_in_new_process(self, lines: str) -> None:
        text = LEFT_OUT.format(bridge=str(BRIDGE)) + textwrap.dedent(lines)
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])

    def test_a_function_is_differentiated_without_and_what_is_named_is_imported(self) -> None:
        self.run_in_new_process("""
            x = torch.randn(4, 3, requires_grad=True)
            y = torch.nn.functional.layer_norm(x, (3,)) @ torch.randn(3, 5)
            y.softmax(-1).sum().backward()
            assert x.grad.shape == (4, 3)
            assert "torch._meta_registrations" not in sys.modules
            assert torch._refs.add and torch._prims.add and torch._decomp.decomposition_table
            assert torch._meta_registrations is sys.modules["torch._meta_registrations"]
        """)

    def test_each_may_be_imported_first(self) -> None:
        for first in torch_import.LATER:
            if not SUITE.covers(first, "what is left out imported first"):
                continue
            with self.subTest(first):
                self.run_in_new_process(f"""
                    import {first} as first
                    import torch._refs, torch._prims, torch._decomp
                    assert first is sys.modules[{first!r}] and torch._refs.add and torch._prims.add
                    assert torch.{first.rpartition(".")[2]} is first
                    assert torch._decomp.decomposition_table and torch._meta_registrations.meta_index_Tensor
                """)

    def test_a_part_may_be_looked_for_first(self) -> None:
        for name, is_there in (("torch.no_such_part", False), ("torch._inductor", True),
                               ("torch._refs", True)):
            if not SUITE.covers(name, "a part looked for first"):
                continue
            with self.subTest(name):
                self.run_in_new_process(f"""
                    import importlib.util
                    assert (importlib.util.find_spec({name!r}) is not None) == {is_there}
                    import torch._refs, torch._decomp
                    assert torch._refs.add and torch._meta_registrations.meta_index_Tensor
                    assert torch._refs.__spec__.origin.endswith("torch/_refs/__init__.py")
                """)

    def test_fake_tensors_have_their_shapes(self) -> None:
        SUITE.ask(self, "")
        self.run_in_new_process("""
            from torch._subclasses.fake_tensor import FakeTensorMode
            with FakeTensorMode():
                a = torch.empty(7, 5)
                assert torch.linalg.qr(a).Q.shape == (7, 5)
                assert torch.cdist(a, a).shape == (7, 7)
        """)

    def test_a_file_that_speaks_of_the_device_gets_it(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "shapes.py"
            path.write_text("import torch\na = torch.empty(7, 5, device='meta')\nb = torch.linalg.qr(a).Q\n"
                            "c = torch.ops.aten._cdist_forward(a, a, 2.0, None)\n")
            plain = Path(folder) / "plain.py"
            plain.write_text("import math\nimport torch\nx = torch.ones(3)\n")
            self.run_in_new_process(f"""
                import os
                os.environ["TRITON_INTERPRET"] = "1"
                import own_file
                own_file.load({str(plain)!r})
                assert "torch._meta_registrations" not in sys.modules
                module = own_file.load({str(path)!r})
                assert module.b.shape == (7, 5) and module.c.shape == (7, 7)
            """)

    def test_a_file_that_names_prims_gets_them(self) -> None:
        SUITE.ask(self, "")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "prims.py"
            path.write_text("import torch\ndef f(x):\n    return torch.ops.prims.exp2(x)\n")
            self.run_in_new_process(f"""
                import os
                os.environ["TRITON_INTERPRET"] = "1"
                import own_file
                assert own_file.load({str(path)!r}).f(torch.ones(2)).tolist() == [2, 2]
            """)

    def test_a_package_may_ask_for_it(self) -> None:
        self.assertFalse(torch_import.may_be_asked_by({"torch.optim", "triton.language.extra", "math"}))
        self.assertTrue(torch_import.may_be_asked_by({"math", "transformers.models"}))


if __name__ == "__main__":
    unittest.main()
