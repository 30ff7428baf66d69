"""Timing: what needs no GPU, and with TRIAD_DEVICE=gpu the protocol on one."""

from __future__ import annotations

import os
import unittest

import torch

from client import Client  # puts the bridge on sys.path

import measure

ON_GPU = os.environ.get("TRIAD_DEVICE") == "gpu" and torch.cuda.is_available()
L2 = 60 << 20


class Rotation(unittest.TestCase):
    """Inputs by themselves, and outputs by themselves, take at least twice the L2 cache."""

    def test_sets(self):
        for given, returned, want in ((8 << 20, 8 << 20, 15), (128 << 20, 128 << 20, 2), (1 << 30, 8 << 20, 15), (7 << 30, 7 << 30, 2), (1000, 1000, 1024),
                                      (8 << 20, 0, 15), (0, 0, 2), (6 << 30, 1 << 20, 2)):
            self.assertEqual(measure.rotation(True, L2, given, returned), want, (given, returned))
            self.assertEqual(measure.rotation(False, L2, given, returned), 1)


class WithoutGPU(unittest.TestCase):
    """A worker on a CPU times nothing and says so."""

    def test_says_so(self):
        client = Client(environment={"TRIAD_DEVICE": "cpu"})
        try:
            reply = client.ask("measure", {"step": "prepare", "arm": 1, "prepare": {"ruler": "bf16", "graph_ns": 1000}})
            self.assertEqual(reply["status"], "UNSUPPORTED")
        finally:
            client.close()

    def test_steps(self):
        arms = measure.Measurements()
        with self.assertRaisesRegex(Exception, "nothing is prepared"):
            arms.step({"step": "time", "arm": 3, "time": {"samples": 1}}, None)


@unittest.skipUnless(ON_GPU, "needs a GPU and TRIAD_DEVICE=gpu")
class OnGPU(unittest.TestCase):
    """A planted function through every step."""

    def test_graph(self):
        arm = measure.Arm(4, lambda i: (torch.ones(1 << 20, device="cuda") * i,))
        arm.prepare(500_000)
        self.assertIsNotNone(arm.graph, arm.reason)
        self.assertEqual(arm.calls % 4, 0)
        self.assertEqual(len({k[0].data_ptr() for k in arm.kept}), 4)
        samples = arm.time(1, 5)
        self.assertEqual(len(samples), 5)
        self.assertTrue(all(s > 0 for s in samples))
        self.assertEqual([float(k[0][0]) for k in arm.kept], [0, 1, 2, 3])

    def test_events(self):
        arm = measure.Arm(2, lambda i: (torch.full((int(torch.ones(1, device="cuda").item()),), i, device="cuda"),))
        arm.prepare(10_000)
        self.assertIsNone(arm.graph)
        self.assertIn("captur", arm.reason)
        self.assertTrue(all(s > 0 for s in arm.time(0, 3)))


if __name__ == "__main__":
    unittest.main()
