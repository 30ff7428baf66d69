"""The tier's rule, as internal/need/tier_test.go asks it of the one in Go."""

from __future__ import annotations

import os
import tempfile
import unittest
import unittest.mock
from pathlib import Path

from tiers import WEEK, Suite, operator, parts, share

FORMS = [("a", "row"), ("b", "row"), ("c", "tile"), ("d", "")]


def chosen(variables: dict[str, str], *inputs: str) -> list[str]:
    tier = {"TRIAD_TEST_DAY": "", "TRIAD_TEST_CHANGED": "", **variables}
    with unittest.mock.patch.dict(os.environ, tier), unittest.mock.patch("tiers.LONG", False):
        suite = Suite("suite", *inputs)
        return [name for name, key in FORMS if suite.covers(name, key)]


class Tiers(unittest.TestCase):
    def test_the_first_of_each_key_runs(self):
        self.assertEqual(chosen({}), ["a", "c"])

    def test_changed_inputs_run(self):
        for text, want in (("triton/made_up.py", 4), ("triton/made_up_other.py", 2), (".", 4),
                           ("internal/catalog/made_up/testdata/a.txt", 2), ("", 2)):
            with self.subTest(text), tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
                file.write(text)
                file.flush()
                self.assertEqual(len(chosen({"TRIAD_TEST_CHANGED": file.name}, *operator("made_up"))), want)

    def test_every_case_has_its_day(self):
        days = [name for day in range(WEEK) for name in chosen({"TRIAD_TEST_DAY": str(day)}) if name == "d"]
        self.assertEqual(days, ["d"])

    def test_a_dear_suite_rotates_in_more_parts(self):
        with tempfile.TemporaryDirectory() as root, unittest.mock.patch("tiers.ROOT", Path(root)):
            (Path(root) / ".ci").mkdir()
            (Path(root) / ".ci/parts").write_text("# words\ncuda suite 14\npybridge suite 21 # seconds\n")
            days = [d for d in range(21) if "d" in chosen({"TRIAD_TEST_DAY": str(d)})]
            self.assertEqual((len(days), parts("suite"), parts("another")), (1, 21, WEEK))

    def test_the_share_is_that_of_go(self):
        self.assertEqual(share("foobar"), 0xBF9CF968)


if __name__ == "__main__":
    unittest.main()
