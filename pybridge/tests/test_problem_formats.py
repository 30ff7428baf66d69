"""Problems in the formats of Tensara and GPU MODE, described and called, and the process that describes."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "worker"))
import bridge_folders  # noqa: E402, F401

import problem_check  # noqa: E402
import problem_describe_gpumode  # noqa: E402
import problem_describe_tensara  # noqa: E402
import problem_gpumode  # noqa: E402
import problem_inspect  # noqa: E402
import problem_tensara  # noqa: E402
from problem_case import ProblemCase  # noqa: E402
from problem_inspect import Refused  # noqa: E402

SCALED = """
import torch
from problem import Problem


class scaled_product(Problem):
    is_exact = False
    parameters = [
        {"name": "a", "type": "float", "pointer": True, "const": True},
        {"name": "b", "type": "float", "pointer": True, "const": True},
        {"name": "alpha", "type": "float", "pointer": False, "const": False},
        {"name": "c", "type": "float", "pointer": True, "const": False},
        {"name": "rows", "type": "size_t", "pointer": False, "const": False},
        {"name": "k", "type": "size_t", "pointer": False, "const": False},
        {"name": "k_again", "type": "size_t", "pointer": False, "const": False},
    ]

    def __init__(self):
        super().__init__(name="scaled-product")

    def reference_solution(self, a, b, alpha):
        with torch.no_grad(), torch.autocast("cuda", enabled=False, dtype=a.dtype):
            return alpha * (a @ b)

    def case(self, rows, k):
        seed = Problem.get_seed(f"{self.name}_{rows}_{k}")
        dtype = self.param_dtype(0)

        def inputs():
            g = torch.Generator(device="cuda").manual_seed(seed)
            return (torch.rand((rows, k), device="cuda", dtype=dtype, generator=g) * 2 - 1,
                    torch.rand(k, device="cuda", dtype=dtype, generator=g) * 2 - 1, 0.5)
        return {"name": f"{rows}x{k}", "rows": rows, "k": k, "create_inputs": inputs}

    def generate_test_cases(self):
        return [self.case(1 << 14, 512), self.case(512, 300), self.case(100, 40)]

    def generate_sample(self):
        return self.case(4, 3)

    def verify_result(self, expected, actual):
        return torch.allclose(expected, actual, rtol=1e-4, atol=1e-4), {}

    def get_extra_params(self, case):
        return [case["rows"], case["k"], case["k"]]
"""

EXTRAS = 'case["rows"], case["k"], case["k"]'

POOLED = (SCALED.replace("alpha * (a @ b)", "torch.nn.functional.avg_pool1d(a[None], alpha, alpha)[0]")
          .replace('"alpha", "type": "float"', '"alpha", "type": "int"')
          .replace("* 2 - 1, 0.5)", "* 2 - 1, 2 + rows % 3)")
          .replace("torch.rand(k, dev", "torch.rand((rows, k), dev"))

SUM = """
import torch
from task import input_t
from utils import matches


def ref_kernel(data):
    x, out = data
    return x.to(torch.float64).sum()


def generate_input(size: int, seed: int):
    gen = torch.Generator(device="cuda")
    gen.manual_seed(seed)
    return torch.randn(size, device="cuda", generator=gen), torch.empty(1, device="cuda")


check_implementation = matches(ref_kernel)
"""

GATED = """
import torch
from utils import matches


def ref_kernel(data):
    x, weights, config = data
    return torch.sigmoid(x @ weights["gate"]) * config["scale"] + config["width"]


def generate_input(rows, width, seed, masked):
    gen = torch.Generator(device="cuda").manual_seed(seed)
    return (torch.randn(rows, width, device="cuda", generator=gen),
            {"gate": torch.randn(width, width, device="cuda", generator=gen)}, {"scale": 0.5, "width": width})


check_implementation = matches(ref_kernel)
"""

COUNTED = """
import torch
from utils import matches


def ref_kernel(data):
    x, out = data
    out[...] = torch.bincount(x, minlength=16)
    return out


def generate_input(size, seed):
    gen = torch.Generator(device="cuda").manual_seed(seed)
    return (torch.randint(0, 16, (size,), device="cuda", dtype=torch.uint8, generator=gen),
            torch.empty(16, device="cuda", dtype=torch.int64))


check_implementation = matches(ref_kernel)
"""

UTILS = """
import torch


def matches(reference):
    def check(data, output):
        expected = reference(data)
        if not torch.allclose(output, expected.to(output.dtype), rtol=1e-4, atol=1e-4):
            return False, "mismatch"
        return True, ""
    return check
"""

TASK = """
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "reference.py", "source": "reference.py"}
lang: "py"
tests:
  - {"size": 127, "seed": 4242}
  - {"size": 128, "seed": 5236}
benchmarks:
  - {"size": 4096, "seed": 54352}
"""


class Tensara(ProblemCase):
    def setUp(self):
        super().setUp()
        self.path = self.path / "def.py"

    def describe(self, text: str) -> dict:
        self.path.write_text(text)
        return problem_describe_tensara.describe(str(self.path))

    def test_parameters_have_the_places_of_the_format(self):
        d = self.describe(SCALED)
        self.assertEqual(d["plan"]["parameters"], ["a", "b", "alpha", "c", "rows", "k", "k"])
        self.assertEqual([x["shape"] for x in d["inputs"]], [["rows", "k"], ["k"]])
        self.assertEqual(d["own"], {"rows": 1 << 14, "k": 512})
        self.assertTrue(d["own_needs_gpu"])
        self.assertEqual(d["attributes"], [{"name": "alpha", "type": "float", "default": 0.5}])
        plan = {**d["plan"], "file": "def.py",
                "files": {"def.py": hashlib.sha256(SCALED.encode()).hexdigest()}}
        (self.path.parent / "problem.json").write_text(json.dumps(plan))
        problem = problem_tensara.Problem(self.path.parent)
        a, b = torch.randn(3, 5, dtype=torch.float64), torch.randn(5, dtype=torch.float64)
        self.assertTrue(torch.allclose(problem.reference(a, b, alpha=2.0), 2 * (a @ b), atol=1e-14))

    def test_its_own_check_says_what_is_weak(self):
        self.assertEqual(self.describe(SCALED)["weak"], [])
        lax = SCALED.replace("atol=1e-4", "atol=1e4")
        self.assertEqual(self.describe(lax)["weak"], ["zeros", "the answer to other inputs",
                                                      "one value everywhere"])

    def test_sizes_that_follow_from_several_numbers(self):
        d = self.describe(POOLED)
        self.assertEqual(d["outputs"][0]["shape"], ["rows", "ceildiv(k - 2, 3)"])
        self.assertIn("alpha = 3 alone", d["notes"][0])

    def test_refused_with_a_reason(self):
        for old, new, why in (
            ('"c", "type": "float"', '"c", "type": "uint64_t"', "c is a pointer to uint64_t"),
            ('"c", "type": "float"', '"c", "type": "uint32_t"', "c is of torch.float32"),
            (EXTRAS, EXTRAS + " % 7", "k_again differs"),
            (EXTRAS, "torch.ones(2), 1, 2", "not its inputs, outputs and numbers"),
            (EXTRAS, "1, 2", "not its inputs, outputs and numbers"),
            ("alpha * (a @ b)", "torch.rand_like(a[:, 0])", "random numbers of its own"),
            ("alpha * (a @ b)", "torch.zeros_like(a[:, 0])", "the same for other inputs"),
        ):
            with self.subTest(why):
                self.assertIn(old, SCALED)
                with self.assertRaises(Refused) as refused:
                    self.describe(SCALED.replace(old, new))
                self.assertIn(why, str(refused.exception))
                self.assertEqual(refused.exception.constant, "the same for" in why)

    def test_inputs_have_the_range_of_the_tests(self):
        d = self.describe(SCALED.replace("alpha * (a @ b)", "alpha * (a[:, 0] + 5 > 7)").replace(
            "* 2 - 1,", "* 9 - 1,"))
        self.assertLess(d["plan"]["recipes"][0]["low"], 0)
        self.assertGreater(d["plan"]["recipes"][0]["high"], 7)


class GPUMode(ProblemCase):

    def describe(self, reference: str, task: str = TASK) -> dict:
        files = {"task.yml": task, "reference.py": reference, "utils.py": UTILS,
                 "task.py": "input_t = tuple\n"}
        for name, text in files.items():
            (self.path / name).write_text(text)
        d = problem_describe_gpumode.describe(str(self.path / "task.yml"))
        plan = {**d["plan"], "file": "task.yml",
                "files": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}}
        (self.path / "problem.json").write_text(json.dumps(plan))
        return d

    def row(self, body: str):
        path = self.path / "submission.py"
        path.write_text("from task import input_t\nimport torch\n\n\n"
                        "def custom_kernel(data: input_t):\n" + body)
        return problem_gpumode.submission(str(self.path), str(path), "mine/submission")[0]

    def test_the_returned_tensor_is_judged_and_its_room_is_full_of_nan(self):
        d = self.describe(SUM)
        self.assertEqual(([x["name"] for x in d["inputs"]], d["own"]), (["x0"], {"size_": 4096}))
        self.assertEqual(d["plan"]["tests"], [{"size": 4096}, {"size": 127}, {"size": 128}])
        self.assertEqual(d["outputs"][0], {"name": "y", "dtype": "", "shape": ["1"]})
        x = torch.randn(127)
        want = problem_gpumode.Problem(self.path).reference(x)
        self.assertEqual((want.dtype, want.shape), (torch.float32, (1,)))
        right = self.row("    x, out = data\n    out[0] = x.sum()\n    return out\n")
        self.assertTrue(torch.allclose(right.forward(x), want, atol=1e-4))
        self.assertEqual(right.nondeterministic, ("y",))
        self.assertTrue(self.row("    return data[1]\n").forward(x).isnan().all())
        self.assertFalse(torch.allclose(self.row("    return data[0][:-1].sum()\n").forward(x), want))

    def test_integers_alone(self):
        d = self.describe(COUNTED)
        self.assertEqual((d["dtypes"], [x["dtype"] for x in d["inputs"]]), (["int64"], ["uint8"]))
        self.assertEqual((d["outputs"][0]["shape"], d["weak"]), (["16"], []))
        x = torch.randint(0, 16, (127,), dtype=torch.uint8)
        want = problem_gpumode.Problem(self.path).reference(x)
        right = self.row("    x, out = data\n    out.zero_()\n"
                         "    return out.scatter_add_(0, x.long(), torch.ones_like(x, dtype=out.dtype))\n")
        self.assertTrue(torch.equal(right.forward(x), want))
        self.assertFalse(torch.equal(self.row("    return data[1]\n").forward(x), want))

    def test_sizes_of_its_tests_are_judged(self):
        d = self.describe(SUM, TASK + '  - {"size": 65536, "seed": 1}\n  - {"size": 9000000, "seed": 1}\n')
        sizes = [v["size_"] for v in d["shapes"]]
        self.assertEqual((sizes[2:5], 9000000 in sizes), ([65536, 4096, 128], False))

    def test_sizes_of_its_tests_may_not_be_declined(self):
        self.describe(SUM)
        row = self.row("    x, out = data\n    assert x.numel() == 4096\n    return x.sum()\n")
        self.assertIsNone(row.accepts("forward", torch.ones(127)))
        self.assertIn("AssertionError at sizes that are not", row.accepts("forward", torch.ones(126)))

    def test_data_of_dictionaries_and_numbers(self):
        task = TASK.replace('"size": 127', '"rows": 7, "width": 8, "masked": False').replace(
            '"size": 128', '"rows": 9, "width": 4, "masked": True').replace(
            '"size": 4096', '"rows": 64, "width": 32, "masked": False')
        d = self.describe(GATED, task)
        self.assertEqual([(x["name"], x["shape"]) for x in d["inputs"]],
                         [("x0", ["rows", "width"]), ("gate", ["width", "width"])])
        self.assertEqual((d["own"], d["weak"]), ({"rows": 64, "width": 32}, []))
        self.assertIn("with masked = False alone, as 2 of its 3 cases", d["notes"][0])
        x, gate = torch.randn(3, 4), torch.randn(4, 4)
        right = self.row("    x, w, c = data\n"
                         "    return torch.sigmoid(x @ w['gate']) * c['scale'] + c['width']\n")
        want = problem_gpumode.Problem(self.path).reference(x, gate)
        self.assertTrue(torch.allclose(right.forward(x, gate), want))
        self.assertTrue(torch.allclose(want, torch.sigmoid(x @ gate) / 2 + 4))

    def test_refused_with_a_reason(self):
        for reference, task, why in (
            (SUM, TASK.replace('lang: "py"', 'lang: "cu"'), "of the language cu"),
            (SUM, TASK + "multi_gpu: true\n", "several GPUs"),
            (SUM, "files: [", "is no YAML"),
            (SUM, "files: []\n", "no list of tests"),
            ("import nothing_of_this_name", TASK, "imports nothing_of_this_name"),
            (SUM.replace("def ref_kernel", "def reference").replace("(ref_kernel)", "(None)"), TASK,
             "defines no ref_kernel"),
            (SUM.replace("torch.randn(size,", "torch.randn(1000,"), TASK, "none of the arguments"),
        ):
            with self.subTest(why):
                with self.assertRaises(Refused) as refused:
                    self.describe(reference, task)
                self.assertIn(why, str(refused.exception))


class Check(ProblemCase):
    """The format's own check of a submission, next to triad's verdict."""

    def checked(self, text: str, plan: dict, body: str) -> dict:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            (path / "problem.py").write_text(text)
            (path / "problem.json").write_text(json.dumps({
                **plan, "file": "problem.py",
                "files": {"problem.py": hashlib.sha256(text.encode()).hexdigest()}}))
            (path / "submission.py").write_text(body)
            return problem_check.checked(folder, str(path / "submission.py"))

    def test_a_function_is_called_in_the_places_of_the_format(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "def.py"
            path.write_text(SCALED)
            plan = {**problem_describe_tensara.describe(str(path))["plan"], "format": "tensara"}
        right = "def solution(x, y, scale, out, n, k, again):\n    out[...] = scale * (x @ y)\n"
        found = self.checked(SCALED, plan, right)
        self.assertEqual((found["passes"], found["trials"]), (True, 3))  # of four tests one is too large
        found = self.checked(SCALED, plan, right.replace("(x @ y)", "(x @ y) * 1.5"))
        self.assertEqual((found["passes"], found["trial"]), (False, "test 4x3"))
        self.assertFalse(found["element"]["inside"])
        found = self.checked(SCALED, plan, right.replace("(x @ y)", "nothing"))
        self.assertIn("it raises NameError", found["why"])

    def test_a_tolerance_that_rejects_what_rounding_explains(self):
        strict = SCALED.replace("atol=1e-4", "atol=0").replace("rtol=1e-4", "rtol=0")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "def.py"
            path.write_text(strict)
            plan = {**problem_describe_tensara.describe(str(path))["plan"], "format": "tensara"}
        found = self.checked(strict, plan, "def solution(x, y, scale, out, n, k, again):\n"
                             "    out[...] = scale * (x * y).flip(1).cumsum(1)[:, -1]\n")
        self.assertEqual((found["passes"], found["element"]["inside"]), (False, True))


class Inspector(ProblemCase):
    """The process that describes problems."""

    def test_what_a_problem_does_meets_that_problem_alone(self):
        relu = ("import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
                "        return torch.relu(x)\n\n\nn = 10\n\n\n"
                "def get_inputs():\n    return [torch.rand(n)]\n")
        child = "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
        texts = [
            "import os\nos._exit(7)\n", "import os\nos.kill(os.getpid(), 9)\n",
            "while True:\n    pass\n", "import time\ntime.sleep(1000)  # 3 s\n",
            child + "print('x' * 1000)\n" + relu,
            "import os\nopen('left', 'w')\nprint(os.listdir('.'))\nraise OSError(os.listdir('.'))\n", relu,
        ]
        asked = "".join(json.dumps({
            "format": "kernelbench", "file": "problem.py", "files": {"problem.py": text},
            "seconds": 3 if "# 3 s" in text or "while" in text else 60}) + "\n" for text in texts)
        script = str(Path(__file__).resolve().parents[1] / "problems" / "problem_inspect.py")
        found = subprocess.run([sys.executable, "-u", script], input=asked, capture_output=True, text=True,
                               timeout=300)
        answers = [json.loads(line) for line in found.stdout.splitlines()]
        self.assertEqual([a.get("refused") for a in answers[:4]],
                         ["the process that ran it ended with exit status 7",
                          "the process that ran it was ended by signal 9",
                          "running it took more than 3 seconds of processor time",
                          "it had no answer after 9 seconds, most of which it waited"])
        self.assertEqual([[x["name"] for x in a.get("inputs", [])] for a in answers[4:]],
                         [["x"], [], ["x"]])
        self.assertIn("['problem.py', 'left']", answers[5]["refused"].replace("['left', 'problem.py']",
                                                                              "['problem.py', 'left']"))
        left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if _text(path) == "sleep\x001000\x00"]
        self.assertEqual(left, [])


    def test_one_that_computes_on_a_busy_processor_is_waited_for(self):
        for computes, waits, want in ((0.01, 0.04, ("{}\n", "")), (0.0, 0.05, ("", "waited"))):
            theirs, ours = os.pipe()
            child = os.fork()
            if child == 0:
                until = time.monotonic() + 3
                while time.monotonic() < until:
                    later = time.monotonic() + computes
                    while time.monotonic() < later:
                        pass
                    time.sleep(waits)
                os.write(ours, b"{}\n")
                os._exit(0)
            os.close(ours)
            with unittest.mock.patch.object(problem_inspect, "LONGEST_WAITING", 1000):
                text, why = problem_inspect._read(theirs, child, 0.4)
            os.close(theirs)
            os.kill(child, 9)
            os.waitpid(child, 0)
            self.assertEqual(text.decode(), want[0])
            self.assertIn(want[1], why)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


if __name__ == "__main__":
    unittest.main()
