"""truth.py: the references in fp64, saved and chained, and nothing of a candidate in its process."""

from __future__ import annotations

import unittest

import torch

from client import Client

from cases import backward_of, forward_cases, largest_error
from specs import NAMES, spec_of

TRUTH: Client


def setUpModule():
    global TRUTH
    TRUTH = Client("truth/truth.py")


def tearDownModule():
    TRUTH.close()


class Truth(unittest.TestCase):
    def test_it_registers_references_alone(self):
        self.assertEqual(set(TRUTH.greeting["versions"]), {"python", "torch"})
        for op in NAMES:
            reply = TRUTH.ask("load", {"op": op})
            rows = [(e["name"], e["pass"], e["recomputes"] if e["pass"] == "backward" else None)
                    for e in reply["implementations"]]
            composed = [("truth/composed", "forward", None), ("truth/composed", "backward", False)]
            if "backward" not in spec_of(op):
                self.assertEqual(rows, [("truth/saved", "forward", None),
                                        ("truth/saved_rounding", "forward", None), *composed])
                continue
            self.assertEqual(rows, [("truth/saved", "forward", None), ("truth/saved", "backward", False),
                                    ("truth/saved_rounding", "forward", None),
                                    ("truth/saved_rounding", "backward", False),
                                    ("truth/chained", "backward", True),
                                    ("truth/chained_rounding", "backward", True), *composed])

    def run_in_fp64(self, op, name, direction, inputs, names, shapes, attributes):
        TRUTH.ask("load", {"op": op})
        reply, got = TRUTH.run(op, name, direction, inputs, [(n, torch.float64, tuple(s)) for n,
            s in zip(names, shapes)], "a", **attributes)
        self.assertIsNone(reply["launches"][0].get("message"))
        self.assertEqual(list(got[0]), list(names))
        return list(got[0].values())

    def test_forward_and_both_backwards(self):
        for op in NAMES:
            spec = spec_of(op)
            dtypes = spec.get("backward", {}).get("dtypes", spec["dtypes"])
            for dtype in dict.fromkeys((dtypes[0], dtypes[-1])):
                for case in forward_cases(op, dtype)[:3]:
                    with self.subTest(op=op, dtype=dtype, shape=list(case.inputs[0].shape)):
                        truth = case.truth()
                        got = self.run_in_fp64(op, "truth/saved", "forward", case.inputs, case.outputs,
                                               [t.shape for t in truth], case.attributes)
                        for g, t in zip(got, truth):
                            self.assertLessEqual(largest_error(g, t), 1e-12)
                        if "backward" not in spec:
                            continue
                        b = backward_of(case)
                        got = self.run_in_fp64(op, "truth/saved", "backward", b.saved, b.gradients,
                                               [t.shape for t in b.truth], case.attributes)
                        for g, t in zip(got, b.truth):
                            self.assertLessEqual(largest_error(g, t), 1e-12)

    def test_the_formulas_agree_with_autograd(self):
        """The closed backward on saved tensors of full precision is what autograd of the forward gives."""
        for op in NAMES:
            backward = spec_of(op).get("backward")
            # a backward with a recipe quantises the upstream gradient too: it is an estimate
            quantises = "recipe" in {a["name"] for a in spec_of(op).get("attributes", ())}
            if backward is None or backward.get("tensors") or quantises:
                continue  # its backward takes operands of its own, which no gradient of the forward knows
            for case in forward_cases(op, "fp64")[:3]:
                with self.subTest(op=op, shape=list(case.inputs[0].shape)):
                    b = backward_of(case)
                    got = self.run_in_fp64(op, "truth/chained", "backward", b.chained, b.gradients,
                                           [t.shape for t in b.truth], case.attributes)
                    for g, t in zip(got, b.truth):
                        self.assertLessEqual(largest_error(g, t), 1e-12)


if __name__ == "__main__":
    unittest.main()
