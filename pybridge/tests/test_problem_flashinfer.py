"""Problems in the format of FlashInfer Trace, described and called."""

from __future__ import annotations

import functools
import hashlib
import json
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "worker"))
import bridge_folders  # noqa: E402, F401

import problem_check  # noqa: E402
import problem_describe_flashinfer  # noqa: E402
import problem_flashinfer  # noqa: E402
from problem_case import ProblemCase  # noqa: E402
from problem_inspect import Refused  # noqa: E402

WORDS = {"f": "float32", "h": "float16", "b": "bfloat16", "i": "int32", "e": "float8_e4m3fn", "m": "bool"}


def tensors(stated: str) -> dict:
    """x:f:rows,cols scale:f becomes the tensors of a definition."""
    found = {}
    for word in stated.split():
        name, dtype, *axes = word.split(":")
        found[name] = {"shape": axes[0].split(",") if axes else None, "dtype": WORDS[dtype]}
    return found


def definition(name: str, inputs: str, outputs: str, body: str, kind: str = "made_up", **axes: int) -> str:
    """A definition, whose axes that are not named vary."""
    ins, outs = tensors(inputs), tensors(outputs)
    names = {axis for t in ins.values() for axis in t["shape"] or ()}
    return json.dumps({
        "name": name, "op_type": kind, "inputs": ins, "outputs": outs,
        "axes": {n: {"type": "const", "value": axes[n]} if n in axes else {"type": "var"}
                 for n in sorted(names | set(axes))},
        "reference": f"import torch\n\n@torch.no_grad()\ndef run({', '.join(ins)}):\n    {body}\n"})


def workload(sizes: dict, **inputs: object) -> str:
    """A workload whose tensors are random; a number is that, a word the file that it is read from."""
    given = {n: {"type": "safetensors", "path": v, "tensor_key": n} if isinstance(v, str)
             else {"type": "scalar", "value": v} for n, v in inputs.items()}
    return json.dumps({"definition": "", "solution": None, "evaluation": None,
                       "workload": {"uuid": "1", "axes": sizes, "inputs": given}}) + "\n"


NORM = ("x = x.to(torch.float32)\n    y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)\n"
        "    return (y * w.to(torch.float32)).to(torch.bfloat16)")

PROBLEMS = {
    "product": (definition("product", "a:f:m,k b:f:n,k", "c:f:m,n", "return a @ b.T", n=24, k=40),
                workload({"m": 6}) + workload({"m": 2}), "return a @ b.T", "a @ b.T", "a @ b.T * 1.01"),
    "norm": (definition("norm", "x:b:rows,hidden w:b:hidden", "y:b:rows,hidden", NORM, hidden=64),
             workload({"rows": 7}), NORM, "w.to(torch.float32)", "w.to(torch.float32).flip(0)"),
    "scaled": (definition("scaled", "x:f:rows,cols scale:f", "y:f:rows,cols", "return x * scale", cols=9),
               workload({"rows": 7}, scale=0.25), "return x * scale", "* scale", "* 0.26"),
    "two": (definition("two", "x:f:rows,cols", "y:f:rows,cols total:f:rows",
                       "return torch.exp(x), x.sum(-1)", cols=12),
            workload({"rows": 5}), "return torch.exp(x), x.sum(-1)", "x.sum(-1)", "x[:, 1:].sum(-1)"),
    "named": (definition("named", "x:f:rows,cols", "y:f:rows,cols z:f:rows,cols",
                         "return {'z': x + 1, 'y': x - 1}", cols=12),
              workload({"rows": 5}), "return {'y': x - 1, 'z': x + 1}", "x + 1", "x + 2"),
    "masked": (definition("masked", "x:f:rows,cols keep:m:rows,cols", "y:f:rows,cols",
                          "return torch.where(keep, x, 0.0)", cols=12),
               workload({"rows": 5}), "return x * keep", "* keep", "* 1"),
    "eight_bits": (definition("eight_bits", "x:e:rows,k w:e:n,k", "y:b:rows,n",
                              "return (x.to(torch.float32) @ w.to(torch.float32).T).to(torch.bfloat16)",
                              k=32, n=16),
                   workload({"rows": 5}),
                   "return (x.to(torch.float32) @ w.to(torch.float32).T).to(torch.bfloat16)",
                   "w.to", "-w.to"),
    "shifted": (definition("shifted", "x:f:rows,cols by:i:rows", "y:f:rows,cols",
                           "return x + by[:, None]", cols=12),
                workload({"rows": 5}), "return x + by[:, None]", "+ by", "- by"),
    "gated": (definition("gated", "x:h:rows,both", "y:h:rows,half",
                         "a, b = x.chunk(2, -1)\n    return torch.sigmoid(a) * b", half=16, both=32),
              workload({"rows": 5}), "a, b = x.chunk(2, -1)\n    return torch.sigmoid(a) * b",
              "sigmoid(a) * b", "sigmoid(b) * a"),
    "experts": (definition("experts", "x:f:rows,cols w:f:cols", "y:f:rows", "return x @ w", cols=30),
                workload({"rows": 5}), "return x @ w", "x @ w", "x.abs() @ w"),
}
"""Ten definitions with a workload each, a right function, and what makes it wrong in place of what."""


@functools.cache
def described(text: str, workloads: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "definition.json"
        path.write_text(text)
        if workloads:
            (Path(folder) / problem_flashinfer.WORKLOADS).write_text(workloads)
        return problem_describe_flashinfer.describe(str(path))


class FlashInfer(ProblemCase):
    def imported(self, text: str, workloads: str) -> problem_flashinfer.Problem:
        files = {"definition.json": text, problem_flashinfer.WORKLOADS: workloads}
        for name, content in files.items():
            (self.path / name).write_text(content)
        (self.path / "problem.json").write_text(json.dumps({
            **described(text, workloads)["plan"], "format": "flashinfer", "file": "definition.json",
            "files": {n: hashlib.sha256(c.encode()).hexdigest() for n, c in files.items()}}))
        return problem_flashinfer.Problem(self.path)

    def submission(self, problem: problem_flashinfer.Problem, body: str, passes_outputs: bool):
        inputs, outputs = list(problem.definition.inputs), list(problem.definition.outputs)
        text = "import torch\n\n\n"
        if passes_outputs:
            text += (f"def run({', '.join([*inputs, *(f'out_{n}' for n in outputs)])}):\n"
                     f"    found = value({', '.join(inputs)})\n"
                     f"    found = found if isinstance(found, (tuple, dict)) else (found,)\n"
                     f"    for i, (out, n) in enumerate(zip([{', '.join(f'out_{n}' for n in outputs)}], "
                     f"{outputs})):\n"
                     f"        out.copy_(found[n] if isinstance(found, dict) else found[i])\n\n\n")
        text += f"def {'value' if passes_outputs else 'run'}({', '.join(inputs)}):\n    {body}\n"
        (self.path / "mine.py").write_text(text)
        return problem_flashinfer.Submission(problem, str(self.path / "mine.py"))

    def right(self, problem: problem_flashinfer.Problem, called) -> bool:
        """Whether a submission gives the answer of the reference at the problem's own sizes."""
        shapes = [problem.definition.shape(t, problem.plan["own"])
                  for t in problem.definition.inputs.values() if t["shape"] is not None]
        inputs, attributes = problem.draw(shapes, {}, 5), problem.plan["numbers"][0]
        want, got = problem.reference(*inputs, **attributes), called.forward(*inputs, **attributes)
        want, got = (v if isinstance(v, tuple) else (v,) for v in (want, got))
        return len(want) == len(got) and all(
            a.dtype == b.dtype and torch.allclose(a.float(), b.float(), atol=1e-5) for a, b in zip(want, got))

    def test_ten_problems_with_a_right_and_a_wrong_submission(self):
        for name, (text, workloads, body, old, new) in PROBLEMS.items():
            problem = self.imported(text, workloads)
            for passes_outputs in (False, True):
                with self.subTest(name, passes_outputs=passes_outputs):
                    self.assertTrue(self.right(problem, self.submission(problem, body, passes_outputs)))
                    self.assertIn(old, body)
                    wrong = self.submission(problem, body.replace(old, new), passes_outputs)
                    self.assertFalse(self.right(problem, wrong))

    def test_sizes_are_the_axes_that_vary(self):
        d = described(*PROBLEMS["product"][:2])
        self.assertEqual([i["shape"] for i in d["inputs"]], [["m", "40"], ["24", "40"]])
        self.assertEqual((d["own"], d["plan"]["tests"]), ({"m": 6}, [{"m": 6}, {"m": 2}]))
        self.assertIn({"m": 0}, d["shapes"])
        self.assertIn("outlier", d["distributions"])
        d = described(*PROBLEMS["scaled"][:2])
        self.assertEqual(d["attributes"], [{"name": "scale", "type": "float", "default": 0.25}])

    def test_a_solution_names_its_function(self):
        problem = self.imported(*PROBLEMS["product"][:2])
        stated = {"name": "mine", "definition": "product", "author": "me", "spec": {
            "language": "python", "target_hardware": ["cpu"], "entry_point": "inner/main.py::multiplied"},
            "sources": [{"path": "inner/main.py",
                         "content": "from helper import product\n\n\ndef multiplied(a, b, c):\n"
                                    "    c.copy_(product(a, b))\n"},
                        {"path": "inner/helper.py", "content": "def product(a, b):\n    return a @ b.T\n"}]}

        def called(**changes):
            (self.path / "mine.json").write_text(json.dumps({**stated, **changes}))
            return problem_flashinfer.Submission(problem, str(self.path / "mine.json"))
        self.assertTrue(self.right(problem, called()))
        text = "def multiplied(*given):\n    return given[0] @ given[1].T\n"
        returns = called(spec={**stated["spec"], "destination_passing_style": False},
                         sources=[{"path": "inner/main.py", "content": text}])
        self.assertTrue(self.right(problem, returns))
        for changes, why in (
            ({"definition": "other"}, "a solution of other, and this problem is product"),
            ({"spec": {**stated["spec"], "language": "cuda"}}, "not here: a solution of the language cuda"),
            ({"spec": {**stated["spec"], "entry_point": "nothing.py::f"}}, "nothing.py, which is none of"),
            ({"sources": [*stated["sources"], {"path": "../out.py", "content": ""}]}, "outside of its"),
            ({"sources": None}, "it is no solution"),
        ):
            with self.subTest(why), self.assertRaisesRegex(ImportError, why):
                called(**changes)

    def test_another_number_of_arguments(self):
        problem = self.imported(*PROBLEMS["product"][:2])
        (self.path / "mine.py").write_text("def run(a):\n    return a\n")
        with self.assertRaisesRegex(ImportError, "takes 1 arguments: want the 2 inputs, or .* 3"):
            problem_flashinfer.Submission(problem, str(self.path / "mine.py"))

    def test_the_check_of_the_benchmark(self):
        text, workloads, body, *_ = PROBLEMS["product"]
        problem = self.imported(text, workloads)
        self.submission(problem, body, True)
        found = problem_check.checked(str(self.path), str(self.path / "mine.py"))
        self.assertEqual((found["passes"], found.get("trials")), (True, 6))
        self.submission(problem, body.replace("a @ b.T", "a @ b.T + 0.009"), False)
        self.assertTrue(problem_check.checked(str(self.path), str(self.path / "mine.py"))["passes"])
        self.submission(problem, body.replace("a @ b.T", "a @ b.T + 1.0"), False)
        found = problem_check.checked(str(self.path), str(self.path / "mine.py"))
        self.assertEqual((found["passes"], found["element"]["inside"]), (False, False))

    def test_its_own_check_says_what_is_weak(self):
        small = PROBLEMS["product"][0].replace("return a @ b.T", "return a @ b.T * 1e-4")
        self.assertIn("zeros", described(small, PROBLEMS["product"][1])["weak"])
        self.assertEqual(described(*PROBLEMS["product"][:2])["weak"], [])

    def test_refused_with_a_reason(self):
        text, workloads, *_ = PROBLEMS["product"]
        scaled, shifted = PROBLEMS["scaled"][0], PROBLEMS["shifted"][0]
        for stated, given, why in (
            ("{", workloads, "is no JSON"),
            (text.replace('"outputs"', '"results"'), workloads, "lacks something: 'outputs'"),
            (text.replace("def run", "def walk"), workloads, "defines no function run"),
            (text.replace("return a", "return nothing"), workloads, "NameError"),
            (text.replace('"m", "n"', '"m", "depth"'), workloads, "has an axis depth"),
            (text.replace("float32", "float4_e2m1", 1), workloads, "a is of float4_e2m1"),
            (text.replace('"shape": ["m", "n"], "dtype": "float32"',
                          '"shape": ["m", "n"], "dtype": "int32"'), workloads, "its output c is of int32"),
            (text, workload({"m": 4}, a="blob/a.safetensors"), "reads a from a file of safetensors"),
            (text, workload({}), "lacks the size of an axis"),
            (scaled, "", "has no workload, which would say what scale is"),
            (shifted, "", "its input by holds integers"),
            (text.replace("a @ b.T", "torch.rand_like(a @ b.T)"), workloads, "random numbers of its own"),
        ):
            with self.subTest(why):
                with self.assertRaises(Refused) as refused:
                    described(stated, given)
                self.assertIn(why, str(refused.exception))

    def test_a_definition_without_a_workload(self):
        d = described(PROBLEMS["product"][0], "")
        self.assertEqual((d["own"], d["notes"]),
                         ({"m": 16}, ["It has no workload: its own sizes are taken to be 16."]))


if __name__ == "__main__":
    unittest.main()
