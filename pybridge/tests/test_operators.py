"""Every implementation of every operator, through a worker, against the operator's reference in fp64."""

from __future__ import annotations

import unittest

import torch

from client import Client

import tiers
from cases import BOUND, Case, backward_of, forward_cases, largest_error, reference_of
from peers import CUTILE, PEERS
from specs import NAMES, findings_of
from tensor_descriptions import described

WORKER: Client


SUITE = tiers.Suite("operators", "pybridge", "internal/truth")


def some(cases: list, dtype: int) -> list[tuple[bool, Case]]:
    """The cases of the dtype-th dtype of a row in the order in which they are run, and whether one is left
    out where an earlier one was taken: of the first dtype and in the long tier none, of the others two in
    three."""
    if dtype == 0 or tiers.LONG:
        return [(False, case) for case in cases]
    return [(False, case) for case in cases[::3]] + [(True, case) for i, case in enumerate(cases) if i % 3]


def wrong_on_a_cpu(op: str) -> set[tuple[str, str, str]]:
    """What the operator's findings know to be wrong on a CPU, by row, pass and dtype, whatever the data and
    the sizes are: it is not compared here."""
    return {(row, f["pass"], dtype) for f in findings_of(op) if f.get("device") == "cpu"
            and "distributions" not in f and "require" not in f
            for row in f["implementations"] for dtype in f["dtypes"]}


def setUpModule():
    global WORKER
    WORKER = Client()


def tearDownModule():
    WORKER.close()


def near_ties(answer: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether at most one integer in a thousand is off, by one: a quotient in 16 bits lies near a tie now and
    then, and the reference's rounds the other way."""
    off = (answer.double() - right.double()).abs()
    return off.numel() > 0 and off.max() <= 1 and (off > 0).sum() <= off.numel() / 1000


class Operators(unittest.TestCase):
    def run_and_compare(self, case: Case, entry: dict, inputs, outputs, truth, dtypes):
        """One call under both poisons: every output that the row gives is near the truth, the same in both,
        and nothing else was written."""
        wanted = [(n, d, tuple(t.shape)) for n, d, t in zip(outputs, dtypes, truth) if n in entry["outputs"]]
        reply, got = WORKER.run(case.op, entry["name"], entry["pass"], inputs, wanted, **case.attributes)
        first = reply["launches"][0]
        if first.get("status") == "UNSUPPORTED":
            return first["message"]
        self.assertEqual([launch.get("message") for launch in reply["launches"]], [None, None], first)
        for launch in reply["launches"]:
            self.assertNotIn("guards", launch)
            self.assertEqual(launch["inputs"], first["inputs"])
        for name, dtype, _ in wanted:
            self.assertEqual(set(got[0]), set(got[1]))
            self.assertIn(name, got[0], first["outputs"])
            a, b = (g[name].view(torch.uint8) if g[name].numel() else g[name] for g in got)
            self.assertTrue(torch.equal(a, b), f"{name} differs between two launches")
            if name in case.given:
                continue  # equal elements may be chosen in another order than the reference's
            # An output in fp32 may still show the roundings of 16-bit inputs; a composition that rounds every
            # intermediate has several of them.
            bound = max(BOUND[dtype], BOUND.get(inputs[0].dtype, 0)) * (4 if entry["contract"] == "eager"
                else 1)
            if entry["device"] == "gpu" and entry["contract"] in ("promoted", "fast"):
                bound = max(bound, 1e-3)  # a tensor core sums fp8 products with 13 bits behind the point
            answer, right = got[0][name], truth[outputs.index(name)]
            if dtype == torch.int8 and inputs[0].is_floating_point() and near_ties(answer, right):
                continue
            self.assertLessEqual(largest_error(answer, right), bound, name)
        return None

    def check(self, op: str) -> None:
        reply = WORKER.ask("load", {"op": op})
        self.assertEqual([f for f in reply.get("failed", []) if f["implementation"] not in (*PEERS, CUTILE)],
                         [])
        supported, asked = set(), set()
        for entry in reply["implementations"]:
            if entry["name"] == "torch/compile":
                continue  # test_compile has it
            wrong = wrong_on_a_cpu(op) if WORKER.greeting["device"] != "gpu" else set()
            for place, dtype in enumerate(entry["dtypes"]):
                row = entry["name"], entry["pass"]
                if (*row, dtype) in wrong:
                    asked.add((*row, dtype))
                    continue
                key = " ".join((op, *row))  # the fast tier takes the first dtype
                if not SUITE.covers(f"{key} {dtype}", key, *tiers.operator(op)):
                    continue
                asked.add((*row, dtype))
                for spare, case in some(forward_cases(op, dtype), place):
                    if spare and (entry["name"], entry["pass"], dtype) in supported:
                        continue
                    with self.subTest(implementation=entry["name"], direction=entry["pass"], dtype=dtype,
                                      shape=list(case.inputs[0].shape), **case.attributes):
                        if entry["pass"] == "forward":
                            truth = case.truth()
                            why = self.run_and_compare(case, entry, case.inputs, case.outputs, truth,
                                                       [case.dtype_of(n) for n in case.outputs])
                        else:
                            b = backward_of(case)
                            why = self.run_and_compare(case, entry, b.chained if entry["recomputes"]
                                                       else b.saved, b.gradients, b.truth, b.dtypes)
                        if why is None:
                            supported.add((entry["name"], entry["pass"], dtype))
        if WORKER.greeting["device"] != "gpu":  # there torch's kernels take what they take
            self.assertEqual(asked - supported, wrong_on_a_cpu(op), "no case of these ran at all")


def _test_of(op: str):
    return lambda self: self.check(op)


for _op in NAMES:
    setattr(Operators, f"test_{_op}", _test_of(_op))


class Rows(unittest.TestCase):
    def test_accepts_is_asked_with_descriptions_alone(self):
        """Every row of every operator says what it takes of tensors without values."""
        for op in NAMES:
            for row in reference_of(op).IMPLEMENTATIONS:
                for case in forward_cases(op, row.dtypes[0]):
                    if row.accepts:
                        said = row.accepts("forward", *described(case.inputs), **case.attributes)
                        self.assertTrue(said is None or isinstance(said, str), row.name)


if __name__ == "__main__":
    unittest.main()
