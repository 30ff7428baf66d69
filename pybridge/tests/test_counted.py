"""A profiler counts what a call of an implementation launches, and nothing else."""

from __future__ import annotations

import os
import unittest
from unittest import mock

import torch

import client  # noqa: F401  (puts the worker's folder on the path)

import launch


class CountedTest(unittest.TestCase):
    def calls(self, environment: dict[str, str], fails: bool = False) -> list[str]:
        said: list[str] = []
        with mock.patch.dict(os.environ, environment), \
                mock.patch.object(torch.cuda.profiler, "start", lambda: said.append("start")), \
                mock.patch.object(torch.cuda.profiler, "stop", lambda: said.append("stop")), \
                mock.patch.object(torch.cuda, "synchronize", lambda device: said.append("synchronize")):
            try:
                with launch.counted(torch.device("cuda")):
                    said.append("call")
                    if fails:
                        raise ValueError("the kernel's own")
            except ValueError:
                said.append("raised")
        return said

    def test_under_a_profiler(self):
        self.assertEqual(self.calls({"TRIAD_PROFILED": "1"}), ["start", "call", "synchronize", "stop"])

    def test_what_raises_is_counted_no_longer(self):
        self.assertEqual(self.calls({"TRIAD_PROFILED": "1"}, fails=True), ["start", "call", "stop", "raised"])

    def test_alone(self):
        self.assertEqual(self.calls({}), ["call"])


if __name__ == "__main__":
    unittest.main()
