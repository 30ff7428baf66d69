"""A user's file is imported as people publish it: as part of its package, with lines that want a GPU."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import textwrap
import unittest
import unittest.mock
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

import torch  # noqa: E402

import client  # noqa: E402, F401  (puts pybridge on sys.path)

import launch  # noqa: E402
import own_file  # noqa: E402
import own_lines  # noqa: E402
import returned_values  # noqa: E402


class Written(unittest.TestCase):
    """Writes files into a folder of its own for each test, and imports one of them."""

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


class OwnFile(Written):
    def test_the_mark_of_utf_8_is_no_part_of_the_text(self):
        (self.folder / "marked.py").write_bytes(b"\xef\xbb\xbfdef double(x):\n    return 2 * x\n")
        self.assertEqual(self.load("marked.py").double(3), 6)

    def test_no_line_of_triad_is_named_as_the_place_of_a_fault(self):
        try:
            returned_values.given(None, "mine")
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
        for none in (False, True):
            if none:
                file.get_init_inputs = None  # as a file may leave what it does not have
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
        self.write(lib__in__parts="N = 5", examples__in__lib__in__parts="N = 7",
                   examples__in__deep__in__mine="from lib.parts import N")
        module = self.load("examples/deep/mine.py")
        with self.assertRaisesRegex(ImportError, "No module named 'lib'"):
            print(module.N + 1)
        (self.folder / "pyproject.toml").touch()
        self.assertEqual(self.load("examples/deep/mine.py").N, 5)

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
            import not_here, math, triton
            from not_here.parts import Base, timed as wrapped
            N = 1
            N = triton.compile(math.floor, signature="*fp32")
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
        for use, why in ((lambda: module.g(1), r"mine.py:5: TypeError: compile\(\) got an unexpected"),
                         (lambda: module.h(1), "mine.py:2: ModuleNotFoundError: No module named 'not_here'"),
                         (lambda: module.other(1), "mine.py:3: ModuleNotFoundError"),
                         (lambda: module.Other(), "mine.py:3: ModuleNotFoundError")):
            with self.assertRaisesRegex(ImportError, why):
                use()

    def test_a_name_does_not_keep_what_it_was_before_its_line_failed(self):
        self.write(mine="""
            import math, torch
            def scale(x): return x * 2
            from not_here import scale
            N = 1
            if not_here_either := scale: N = 2
            import torch, math, not_here_too
            import torch.not_here, torch
            from math import floor, not_of_it, ceil
            def f(x): return scale(x)
            def g(x): return x * N
            def h(x): return torch.ones(1) + math.floor(x) + ceil(x)
            def of_math(x): return not_of_it(x)
            def part(x): return torch.not_here.f(x)
            """)
        module = self.load("mine.py")
        self.assertEqual(module.h(2).item(), 5)
        for use in (module.f, module.g, module.of_math, module.part):
            with self.assertRaisesRegex(ImportError, "mine.py:(4|8|9): .*(No module named|cannot import)"):
                use(1)

    def test_a_name_that_a_module_beside_it_may_get_is_missing(self):
        self.write(perhaps__in__common="try: from not_here import fast\nexcept ImportError: pass",
                   perhaps__in__mine="from .common import fast\ndef f(x): return x",
                   perhaps__in____init__="")
        self.assertEqual(self.load("perhaps/mine.py").f(2), 2)

    def test_every_use_of_what_is_missing_is_named(self):
        module = self.load_uses()
        for use in (n for n in vars(module) if n.startswith("use_")):
            with self.assertRaisesRegex(ImportError, "mine.py:3: .*No module named 'not_here'", msg=use):
                with own_file.called():
                    getattr(module, use)(torch.ones(2))
        with own_file.called():
            self.assertEqual(module.not_used(3), 3)
        with self.assertRaisesRegex(ImportError, "No module named 'not_here'"):
            own_file.default(module.decorated, "x")

    def load_uses(self):
        self.write(mine="""
            import torch, inspect, copy, pickle
            from not_here import MODE, fast, wrapped
            VERSION = fast.__version__
            KEPT = copy.deepcopy(MODE), pickle.dumps, inspect.isfunction(fast), callable(fast)
            def use_equal(x): return x if MODE == "whole" else -x
            def use_other(x): return x if MODE != "whole" else -x
            def use_key(x): return {"whole": 1}.get(MODE)
            def use_text(x): return f"{MODE}"
            def use_words(x): return str(MODE)
            def use_power(x): return MODE ** 2
            def use_of_power(x): return 2 ** MODE
            def use_product(x): return x @ MODE
            def use_negative(x): return -MODE
            def use_bits(x): return MODE & 1
            def use_of_bits(x): return 1 | MODE
            def use_kind(x): return isinstance(x, MODE)
            def use_kinds(x): return isinstance(x, (str, MODE))
            def use_in(x): return 1 in MODE
            def use_full(x): return torch.full((1,), MODE)
            def use_asked(x): return hasattr(MODE, "flag")
            def use_version(x): return VERSION.major
            def use_fallback(x):
                try:
                    return fast(x)
                except Exception:
                    return x
            def use_any_fallback(x):
                try:
                    return fast(x)
                except:
                    return x
            def use_other_error(x):
                try:
                    return fast(x)
                except Exception:
                    raise ValueError("no")
            @wrapped
            def decorated(x): return x
            def not_used(x: "MODE", y: MODE | None = None): return x
            """)
        return self.load("mine.py")

    def test_a_fallback_at_the_top_is_none_of_the_file(self):
        self.write(mine="""
            import not_here
            try:
                fast = not_here.make()
            except Exception:
                fast = None
            class Other(not_here.Base):
                pass
            def f(x): return fast(x) if fast else x
            def g(x): return x
            """)
        module = self.load("mine.py")
        self.assertEqual(module.g(1), 1)
        with self.assertRaisesRegex(ImportError, "mine.py:2: .*No module named 'not_here'"):
            module.f(1)

    def test_a_line_that_is_wrong_ends_the_import(self):
        for i, line in enumerate((
                'TABLE = torch.arange(6).view(2, 2)', 'N = int("x")', 'N = torch.ones(2).veiw(1)',
                'N = own(1, two=2)', 'N = [][1]',
                'x = torch.arange("a", b=1)', 'N = math.floor()')):
            self.write(**{f"wrong_{i}": f"import math, torch\ndef own(x): return x\n{line}\n"
                          "def f(x): return x"})
            with self.assertRaisesRegex(ImportError, f"wrong_{i}.py:3: ", msg=line):
                self.load(f"wrong_{i}.py")

    def test_a_line_that_fails_since_something_is_not_here_does_not(self):
        for i, line in enumerate((
                'N = tl.not_of_this_version', 'N = [triton.Config({}, not_of_this_version=1)]',
                'N = made()', 'N = torch.ops.not_here.f(1)', 'N = numpy.float_(1)',
                'import ctypes; N = ctypes.CDLL("libnot_here.so")', 'from torch import N',
                'N = triton.runtime.driver.active.not_of_it()')):
            self.write(**{f"mine_{i}": "import numpy, torch, triton, triton.language as tl\n"
                          f"def made(): return triton.Config({{}}, not_here=1)\n{line}\n"
                          "def f(x): return x\ndef g(x): return x + N"})
            module = self.load(f"mine_{i}.py")
            self.assertEqual(module.f(1), 1, line)
            with self.assertRaisesRegex(own_lines.Missing, f"mine_{i}.py:3: ", msg=line):
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

    def test_what_is_read_from_elsewhere_may_not_be_here(self):
        self.write(beside="", mine="""
            import os, sys
            from beside import _compiled
            SOURCE = open("nowhere/relu.cu").read()
            ROOT = os.environ["NO_SUCH_NAME_OF_OURS"]
            N = int(sys.argv[1])
            with open("nowhere/gelu.cu") as file: TEXT = file.read()
            PARTS = TEXT.split()
            def f(x): return x
            def g(x): return _compiled.g(x)
            """)
        module = self.load("mine.py")
        self.assertEqual(module.f(3), 3)
        for name in ("SOURCE", "ROOT", "N", "TEXT", "PARTS"):
            with self.assertRaises(own_lines.Missing):
                own_lines.must_be_here(getattr(module, name))
        with self.assertRaisesRegex(own_lines.Missing, "cannot import name '_compiled'"):
            module.g(3)

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
            def f(x: Nothing): return torch.nn.LSTM(3, 2)(x)[0].is_cuda  # it asks cuDNN about its weights
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
