"""The judge's version names the composed error bounds too: what they are on fixed functions stands in
error_bounds.json beside the version.

    UPDATE=1 python -m unittest test_version.py     writes the file, where nothing changed or the version is
                                                    new
"""

from __future__ import annotations

import json
import os
import re
import unittest
from pathlib import Path

import torch

from test_error_bound import OPERATORS, computed, drawn

BOOKS = Path(__file__).with_name("error_bounds.json")
CONSTANTS = Path(__file__).parents[2] / "internal" / "judge" / "constants.go"
CONTRACTS = (("fp32", torch.float32), ("tf32", torch.float32), ("eager", torch.bfloat16),
             ("stored", torch.float16))


def figures() -> dict[str, list[float]]:
    """For each function and contract, forward and backward: how many elements have an error bound, and the
    sum of their binary logarithms."""
    found = {}
    for name, (function, tensors) in OPERATORS.items():
        for contract, dtype in CONTRACTS:
            given = tuple(t.to(dtype) for t in tensors)
            forward = computed(function, given, contract, dtype)
            upstream = {0: drawn(15, *forward[0].r.shape).to(dtype)}
            backward = computed(function, given, contract, dtype, upstream, tuple(range(len(given))))
            allowed = torch.cat([b.e.flatten() for b in (*forward, *backward)])
            allowed = allowed[(allowed > 0) & allowed.isfinite()]
            found[f"{name}, {contract}"] = [allowed.numel(), allowed.log2().sum().item()]
    return found


def apart(was: list[float], now: list[float]) -> bool:
    return was[0] != now[0] or abs(was[1] - now[1]) > 1e-9 * abs(was[1])


class Version(unittest.TestCase):
    def test_version_names_the_composed_error_bounds(self):
        version = re.search(r'^const Version = "(.*)"$', CONSTANTS.read_text(), re.MULTILINE).group(1)
        now = figures()
        books = json.loads(BOOKS.read_text()) if BOOKS.exists() else {"version": "", "figures": {}}
        changed = [name for name, was in books["figures"].items() if name not in now or apart(was, now[name])]
        if os.environ.get("UPDATE") and (not changed or books["version"] != version):
            lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(now[name])}" for name in sorted(now))
            BOOKS.write_text(f'{{"version": "{version}", "figures": {{\n{lines}\n}}}}\n')
            return
        how = f"UPDATE=1 python -m unittest {Path(__file__).name}"
        self.assertEqual(changed, [], f"these are not the error bounds of version {books['version']}: set "
                                      "judge.Version to the next number, add a line to the "
                                      f"history in docs/judge.md, and run {how}")
        self.assertEqual(books["version"], version, f"judge.Version is new: run {how}")
        self.assertEqual(sorted(set(now) - set(books["figures"])), [], f"not written yet: run {how}")

    def test_a_change_is_seen(self):
        self.assertTrue(apart([10, -200.0], [10, -200.0 + 1e-6]))
        self.assertTrue(apart([10, -200.0], [9, -200.0]))
        self.assertFalse(apart([10, -200.0], [10, -200.0 * (1 + 1e-13)]))


if __name__ == "__main__":
    unittest.main()
