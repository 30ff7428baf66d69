"""A user's file is imported as people publish it: as part of its package, with lines that want a GPU."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

import torch  # noqa: E402

import client  # noqa: E402, F401  (puts pybridge on sys.path)

import launch  # noqa: E402
import own_file  # noqa: E402
import returned  # noqa: E402


class OwnFile(unittest.TestCase):
    """Each test writes files into a folder of its own, and imports one of them."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        before, paths = set(sys.modules), list(sys.path)

        def restore() -> None:
            sys.path[:] = paths
            for name in set(sys.modules) - before:
                if str(getattr(sys.modules[name], "__file__", "")).startswith(str(self.folder)):
                    del sys.modules[name]
        self.addCleanup(restore)

    def write(self, **files: str) -> None:
        for name, text in files.items():
            path = self.folder / (name.replace("__in__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))

    def load(self, name: str):
        self.printed = io.StringIO()
        with contextlib.redirect_stderr(self.printed):
            return own_file.load(str(self.folder / name))

    def test_a_module_in_the_only_folder_near_it_is_found(self):
        self.write(src__in__mine="from helper_of_mine import double", utils__in__helper_of_mine="""
            def double(x):
                return 2 * x
            """)
        self.assertEqual(self.load("src/mine.py").double(3), 6)
        self.assertIn(f"which lies in {self.folder / 'utils'}", self.printed.getvalue())

    def test_of_two_modules_near_it_none_is_taken(self):
        self.write(src__in__mine="import helper_of_mine", one__in__helper_of_mine="",
                   two__in__helper_of_mine="")
        module = self.load("src/mine.py")
        with self.assertRaisesRegex(ImportError, "No module named 'helper_of_mine'"):
            module.helper_of_mine.double(3)

    def test_no_line_of_triad_is_named_as_the_place_of_a_fault(self):
        try:
            returned.given(None, "mine")
        except TypeError as e:
            outcome = launch._outcome(e, str(self.folder / "mine.py"))
        self.assertIn("mine returned nothing", outcome["message"])
        self.assertEqual(outcome["where"]["file"], __file__)

    def test_a_module_that_is_made_with_more_than_sizes_declines(self):
        self.write(mine="""
            import torch

            class Gated(torch.nn.Module):
                def __init__(self, dim, hidden, depth=1):
                    super().__init__()
                    self.weight = torch.nn.Parameter(torch.ones(dim, hidden))
            """)
        file = self.load("mine.py")
        said = own_file.Module(file, "Gated", {"dim": 4}, ("weight",)).has_others()
        self.assertIn("Gated is made with hidden, and nothing says what that is", said)
        file.get_init_inputs = lambda: [4, 8]
        self.assertIsNone(own_file.Module(file, "Gated", {"dim": 4}, ("weight",)).has_others())

    def test_objects_of_a_plain_class_are_called(self):
        self.write(mine="""
            class Scaled:
                def __init__(self, factor):
                    self.factor = factor

                def __call__(self, x):
                    return x * self.factor

            class Halved:
                def forward(self, x):
                    return x / 2
            """)
        file = self.load("mine.py")
        for module, want in ((own_file.Module(file, "Scaled", {"factor": 3}, ()), 12.0),
                             (own_file.Module(file, "Halved", {}, ()), 2.0)):
            self.assertIsNone(module.has_others())
            self.assertEqual(module.call({}, {"x": torch.tensor(4.0)}).item(), want)

    def test_lines_of_a_notebook_are_left_out(self):
        self.write(mine="""
            !pip install -q triton
            %matplotlib inline
            %%time
            N = 10 \\
                % 4
            if N > 5:
                !nvidia-smi
            """)
        self.assertEqual(self.load("mine.py").N, 2)
        self.assertIn("lines of a notebook are left out", self.printed.getvalue())

    def test_a_syntax_error_stays_one(self):
        self.write(mine="!pip install triton\nN = (1\n", other="N = (1\n")
        for name in ("mine.py", "other.py"):
            with self.assertRaises(SyntaxError):
                self.load(name)

    def test_relative_imports_without_init(self):
        self.write(day_1__in__shared="N = 3", day_1__in__parts__in__other="M = 4",
                   day_1__in__parts__in__mine="""
            from ..shared import N
            from .other import M
            """)
        module = self.load("day_1/parts/mine.py")
        self.assertEqual((module.N, module.M), (3, 4))

    def test_what_its_package_imported_is_not_run_again(self):
        self.write(once__in____init__="from . import mine", once__in__names="SEEN = []",
                   once__in__mine="""
            from .names import SEEN
            if SEEN:
                raise ValueError("registered twice")
            SEEN.append("mine")
            """)
        self.assertEqual(self.load("once/mine.py").SEEN, ["mine"])

    def test_the_root_of_the_repository_is_searched(self):
        self.write(lib__in__parts="N = 5", examples__in__mine="from lib.parts import N")
        module = self.load("examples/mine.py")
        with self.assertRaisesRegex(ImportError, "No module named 'lib'"):
            print(module.N + 1)
        (self.folder / "pyproject.toml").touch()
        self.assertEqual(self.load("examples/mine.py").N, 5)

    def test_pythonpath(self):
        self.write(elsewhere__in__only_there="N = 6", mine="from only_there import N")
        os.environ[own_file.PATHS] = str(self.folder / "elsewhere")
        self.addCleanup(os.environ.pop, own_file.PATHS)
        self.assertEqual(self.load("mine.py").N, 6)

    def test_a_package_like_one_that_is_here(self):
        (self.folder / "torch").mkdir()
        (self.folder / "torch" / "__init__.py").touch()
        self.write(torch__in__part="N = 7",
                   torch__in__mine="from .part import N\nimport torch\nones = torch.ones(2)")
        module = self.load("torch/mine.py")
        self.assertEqual((module.N, module.ones.sum().item()), (7, 2))
        self.assertIs(sys.modules["torch"], torch)

    def test_a_missing_package_is_named_with_its_line(self):
        self.write(mine="\nimport cv2_not_here.parts")
        line = r"mine.py:2: .*No module named 'cv2_not_here': .* -m pip install cv2-not-here"
        module = self.load("mine.py")
        with self.assertRaisesRegex(ImportError, line):
            module.cv2_not_here.parts.read()
        self.write(star="from cv2_not_here import *")
        with self.assertRaisesRegex(ImportError, "star.py:1: "):
            self.load("star.py")

    def test_what_does_without_a_line_that_failed_is_there(self):
        self.write(mine="""
            import not_here, math
            from not_here.parts import Base, timed as wrapped
            N = 1
            N = int("x")
            made = not_here.make(3)
            class Other(Base):
                pass
            @wrapped
            def other(x): return x
            def f(x): return x + 1
            def g(x): return x * N
            def h(x): return made[x]
            """)
        module = self.load("mine.py")
        self.assertEqual(module.f(1), 2)
        self.assertIn("what uses N fails with it", self.printed.getvalue())
        for use, why in ((lambda: module.g(1), "mine.py:5: ValueError: invalid literal"),
                         (lambda: module.h(1), "mine.py:2: ModuleNotFoundError: No module named 'not_here'"),
                         (lambda: module.other(1), "mine.py:3: ModuleNotFoundError"),
                         (lambda: module.Other(), "mine.py:3: ModuleNotFoundError")):
            with self.assertRaisesRegex(ImportError, why):
                use()

    def test_a_cell_has_the_names_of_those_above_it(self):
        self.write(cell="def f(x): return torch.ones(x).sum() + math.pi")
        self.assertAlmostEqual(self.load("cell.py").f(2).item(), 5.1415927, places=5)
        self.assertIn("torch, math are what is usually called so", self.printed.getvalue())
        self.write(file="import math\ndef f(x): return torch.ones(x).sum() + math.pi")
        with self.assertRaisesRegex(NameError, "torch"):
            self.load("file.py").f(2)

    def test_constants_of_its_main_block_are_taken(self):
        self.write(mine="""
            N = 1
            def f(x): return x * FACTOR + N
            def g(x): return made + x
            if __name__ == "__main__":
                N = 2
                FACTOR, other = 3, 4
                FACTOR = 5
                made = f(1)
            """)
        module = self.load("mine.py")
        self.assertEqual(module.f(2), 11)
        self.assertIn("FACTOR is what its main block says, in line 8: 5", self.printed.getvalue())
        with self.assertRaisesRegex(NameError, "made"):
            module.g(1)

    def test_lines_that_show_may_fail_and_others_may_not(self):
        self.write(mine="""
            def f(x): return x
            assert f(1) == 2, "shown"
            for _ in range(1): f(nowhere)
            """)
        self.assertEqual(self.load("mine.py").f(3), 3)
        self.assertIn("AssertionError: shown", self.printed.getvalue())
        self.assertIn("line 4 shows or tests", self.printed.getvalue())
        self.write(wrong="N = nowhere")
        with self.assertRaisesRegex(ImportError, "wrong.py:1: NameError"):
            self.load("wrong.py")

    def test_cuda_means_the_device_that_is_here(self):
        self.write(mine="""
            from __future__ import annotations
            import torch
            x = torch.ones(2, 3, device="cuda").cuda().to("cuda:0", non_blocking=True)
            x = x.to(torch.device("cuda"))
            made = torch.empty(1, device=x.device)
            said = (x.is_cuda, x.device.type, torch.cuda.is_available(), made.is_cuda)
            like = (torch.device("cuda:0") == x.device, torch.device("cuda").type == x.device.type,
                    torch.device("cuda", 0) == made.device,
                    torch.empty(1, device=torch.device("cuda:0")).is_cuda)
            with torch.cuda.device(x.device), torch.cuda.stream(torch.cuda.Stream()):
                torch.cuda.synchronize()
            def f(x: Nothing): return x.is_cuda
            """)
        module = self.load("mine.py")
        self.assertEqual(module.said, (True, "cuda", True, True))
        self.assertEqual(module.like, (True, True, True, True))
        self.assertEqual((module.x.device.type, module.x.is_cuda, module.f(module.x)), ("cpu", False, False))
        with own_file.called():
            self.assertTrue(module.f(module.x))

    def test_triton_in_another_file_of_the_package(self):
        self.write(a__in__kernels="import triton", a__in__mine="from .kernels import triton as _\ndel _",
                   b__in__mine="import torch")
        self.assertTrue(own_file.uses_triton(self.load("a/mine.py")))
        self.assertFalse(own_file.uses_triton(self.load("b/mine.py")))

    def test_what_shows_is_not_needed(self):
        self.write(mine="""
            import matplotlib.pyplot as plt
            import pytest
            from tqdm import tqdm
            @pytest.mark.parametrize("n", [1])
            def f(n): return n
            plt.figure(figsize=(1, 2)).savefig("x")
            total = sum(tqdm([1, 2]))
            """)
        module = self.load("mine.py")
        self.assertEqual((module.f(4), module.total), (4, 3))


if __name__ == "__main__":
    unittest.main()
