"""The tables of published sessions, from an export."""

from __future__ import annotations

import importlib.util
import unittest
from pathlib import Path

_SPEC = importlib.util.spec_from_file_location("tables", Path(__file__).resolve().parents[2] / "results" / "published" / "tables.py")
tables = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(tables)


def record(impl: str, direction: str, ns: float, backward: str = "", mode: str = "graph") -> dict:
    timing = {"status": "PASS", "regime": "cold", "median_ns": ns, "mode": mode, "backward": backward}
    return {"op": "softmax", "pass": direction, "dtype": "bf16", "impl": impl, "dims": {"rows": 8}, "attributes": {}, "status": "PASS", "timing": timing}


class Tables(unittest.TestCase):
    RECORDS = [record("cuda/vec", "forward", 10_000), record("cuda/partials", "backward", 20_000, "saved tensors"),
               record("torch/eager", "forward", 12_000), record("torch/eager", "backward", 25_000, "retained graph", "events"),
               record("liger/kernel", "forward", 11_000), record("liger/kernel", "backward", 55_000, "forward+backward")]

    def test_a_forward_with_its_backward_stands_beside_sums(self):
        rows = {line.split(" | ")[0]: [cell.strip() for cell in line.split("|")[4:11]] for line in tables.times(self.RECORDS) if line.startswith("| softmax")}
        self.assertEqual(rows, {
            "| softmax, forward, bf16": ["10 us (vec)", "", "12 us", "", "", "11 us (liger/kernel)", ""],
            "| softmax, backward, bf16": ["20 us (partials)", "", "25 us*", "", "", "", ""],
            "| softmax, forward+backward, bf16": ["30 us (vec + partials)", "", "37 us*", "", "", "55 us (liger/kernel)", ""]})

    def test_the_legend_says_what_was_timed(self):
        text = "\n".join(tables.times(self.RECORDS))
        for sentence in ("A backward of torch/eager is timed alone", "liger/kernel: a forward and its backward, timed together", "* of torch/eager: timed between events"):
            self.assertIn(sentence, text)
        self.assertNotIn("timed together", "\n".join(tables.times(self.RECORDS[:4])))


if __name__ == "__main__":
    unittest.main()
