"""Timing: what needs no GPU, and with TRIAD_DEVICE=gpu the protocol on one."""

from __future__ import annotations

import gc
import os
import unittest
import weakref
from unittest import mock

import torch

from client import Client  # puts the bridge on sys.path

import implementation
import launch
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

    def test_evened(self):
        for least, given, returned, want in ((2, 64 << 20, 64 << 20, 7), (2, 192 << 20, 64 << 20, 3), (2, 1 << 30, 1 << 30, 2), (15, 8 << 20, 8 << 20, 15),
                                             (4, 32 << 20, 32 << 20, 8)):
            self.assertEqual(measure.evened(least, L2, given, returned), want, (given, returned))

    def test_unlike(self):
        a = torch.tensor([1.0, float("nan"), 0.0])
        for b, want in ((a.clone(), 0), (torch.tensor([1.0, float("nan"), -0.0]), 1), (a.double(), 1), (a[:2], 1), (None, 1)):
            self.assertEqual(measure._unlike(a, b), want, b)
        self.assertEqual((measure._unlike(None, None), measure._unlike(a[:0], a[:0])), (0, 0))


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


class Uncaptured(unittest.TestCase):
    """Calls that no graph captures, on a stand-in for a GPU."""

    def arm(self, sets: int, call) -> measure.Arm:
        cuda = mock.patch.multiple("torch.cuda", Stream=mock.MagicMock(), Event=mock.MagicMock(), CUDAGraph=mock.MagicMock(), stream=mock.MagicMock(),
                                   synchronize=mock.DEFAULT, graph=mock.Mock(side_effect=RuntimeError("operation not permitted when stream is capturing")))
        cuda.start()
        self.addCleanup(cuda.stop)
        torch.cuda.Event.return_value.elapsed_time.return_value = 1.0
        return measure.Arm(sets, call)

    def test_every_set_has_its_outputs(self):
        arm = self.arm(2, lambda i: (i,))
        arm.sets = 5  # as an arm whose calls turned out not to be slow
        arm.prepare(0)
        self.assertIn("captur", arm.reason)
        self.assertEqual((arm.calls, arm.kept), (5, [(0,), (1,), (2,), (3,), (4,)]))

    def test_a_timed_call_is_for_its_sizes_alone(self):
        arm, seen = object.__new__(measure.CallArm), []

        def call(x, *, eps):
            seen.append((x, eps, implementation.SIZES_ALONE))
            if x < 0:
                raise ValueError(x)
            return x

        arm.function, arm.loaded, arm.attributes = call, [[(None, 3)], [(None, -1)]], {"eps": 0.5}
        self.assertEqual(arm._call(0), (3,))
        with self.assertRaises(ValueError):
            arm._call(1)
        self.assertEqual((seen, implementation.SIZES_ALONE), ([(3, 0.5, True), (-1, 0.5, True)], False))

    def test_release(self):
        class Owner:
            def __init__(owner):
                owner.arm = self.arm(2, owner.call)

            def call(owner, i):
                return (i,)

        with measure.nothing_collected():
            self.assertFalse(gc.isenabled())
            owner = Owner()
            alive, inner = weakref.ref(owner), owner.arm
            inner.prepare(0)
            inner.release()
            del owner
            self.assertIsNone(alive(), "without a collection")
        self.assertTrue(gc.isenabled())


class Raising:
    """An arm whose function raises when it is called again; it is captured by no graph."""

    def __init__(self, error: BaseException):
        self.source, self.arm, self.error, self.released = __file__, self, error, 0

    def release(self):
        self.released += 1

    def time(self, discard: int, samples: int):
        raise self.error

    def finish(self, launches):
        raise self.error


class OfTheFunction(unittest.TestCase):
    """Whatever a function raises while it is timed ends its arm with its file and line; what the harness raises is the harness's."""

    def test_exceptions(self):
        for error in (KeyError("rows"), ValueError("oh no"), IndexError("7"), SystemExit(0), RuntimeError("no")):
            for step in ({"step": "time", "time": {"samples": 1}}, {"step": "finish", "finish": {}}):
                arms = measure.Measurements()
                arms.arms[1] = Raising(error)
                arm = arms.arms[1]
                reply = arms.step({**step, "arm": 1}, None)
                self.assertFalse(reply["fatal"])
                self.assertGreater(arm.released, 0)
                self.assertEqual(arms.arms, {})
                if step["step"] == "finish":  # as a run's
                    [reply] = reply["launches"]
                self.assertEqual(reply["status"], "CRASH")
                self.assertRegex(reply["message"], rf"^{type(error).__name__}: .*\({__file__}:\d+\)$")

    def test_harness(self):
        for error in (measure.WireError("bad request"), measure.NotHere("softmax/none")):
            arms = measure.Measurements()
            arms.arms[1] = Raising(error)
            with self.assertRaises(type(error)):
                arms.step({"step": "time", "arm": 1, "time": {"samples": 1}}, None)

    def test_a_broken_context_is_fatal(self):
        with mock.patch("torch.cuda.synchronize", side_effect=RuntimeError("CUDA error: an illegal memory access was encountered")):
            self.assertFalse(launch.computes(torch.device("cuda", 0)))
        with mock.patch("torch.cuda.synchronize"):
            self.assertTrue(launch.computes(torch.device("cuda", 0)))
        self.assertTrue(launch.computes(torch.device("cpu")))


@unittest.skipUnless(ON_GPU, "needs a GPU and TRIAD_DEVICE=gpu")
class OnGPU(unittest.TestCase):
    """A planted function through every step."""

    def test_graph(self):
        arm = measure.Arm(4, lambda i: (torch.ones(1 << 20, device="cuda") * i,))
        self.assertGreater(arm.warm_up(), 0)
        arm.prepare(500_000)
        self.assertIsNotNone(arm.graph, arm.reason)
        self.assertEqual(arm.calls % 4, 0)
        self.assertEqual(len({k[0].data_ptr() for k in arm.kept}), 4)
        samples = arm.time(1, 5)
        self.assertEqual(len(samples), 5)
        self.assertTrue(all(s > 0 for s in samples))
        self.assertEqual([float(k[0][0]) for k in arm.kept], [0, 1, 2, 3])

    def test_garbage_of_a_graph(self):
        """A capture succeeds whatever garbage waits to be collected, another graph among it."""
        cycle = [measure.Arm(2, lambda i: (torch.ones(1 << 20, device="cuda"),))]
        cycle[0].prepare(10_000)
        cycle.append(cycle)
        del cycle
        before = gc.get_threshold()
        gc.set_threshold(1)
        try:
            arm = measure.Arm(2, lambda i: (torch.ones(1 << 20, device="cuda"), [[] for _ in range(100)])[:1])
            arm.prepare(10_000)
        finally:
            gc.set_threshold(*before)
        self.assertIsNotNone(arm.graph, arm.reason)

    def test_events(self):
        arm = measure.Arm(2, lambda i: (torch.full((int(torch.ones(1, device="cuda").item()),), i, device="cuda"),))
        arm.prepare(10_000)
        self.assertIsNone(arm.graph)
        self.assertIn("captur", arm.reason)
        self.assertTrue(all(s > 0 for s in arm.time(0, 3)))


if __name__ == "__main__":
    unittest.main()
