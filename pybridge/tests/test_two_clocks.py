"""Timing of calls that are spread over two GPUs, on a stand-in for them."""

from __future__ import annotations

import unittest
from unittest import mock

import torch

from client import Client  # noqa: F401  (puts the bridge on sys.path)

import measure
from all_to_all import Halves
from implementation import Implementation
from test_measure import Host


class TwoClocks(unittest.TestCase):
    X = torch.arange(15.0).view(5, 3)

    def test_timed_by_both(self):
        host, order, divided = Host(self), [], []

        class Event:
            stream = "first"

            def record(self, stream=None):
                self.stream = "first" if stream is None else "second"
                order.append(f"{self.stream} has the time")

            def elapsed_time(self, end):
                return {("first", "first"): 3.0, ("second", "second"): 4.0}[self.stream, end.stream]

        def of_member(member, x, *, ranks):
            order.append("member")
            return (x * 2,)

        class Divided(Halves):
            def divide(self, tensors):
                divided.append(super().divide(tensors))
                return divided[-1]
        second = mock.MagicMock()
        second.wait_event.side_effect = lambda event: order.append("second waits")
        row = Implementation("torch/halves", Divided(of_member), outputs=("y",), devices=2)
        with (mock.patch("torch.cuda.Event", lambda **_: Event()),
              mock.patch.object(measure, "SLOW_CALL_NS", 1 << 60),  # whatever the load of this machine
              mock.patch("torch.cuda.default_stream", lambda device: second)):
            candidate = host.candidate(row, "forward", self.X)
            inner = candidate.candidate
            inner.stream.wait_stream.side_effect = lambda stream: order.append("first waits")
            self.assertEqual((inner.graph, inner.reason, inner.second), (None, measure.COUNTS, second))
            self.assertEqual(len(divided), inner.sets, "once a set, before anything is timed")
            self.assertGreater(inner.sets, 2)
            order.clear()
            self.assertEqual(inner.time(1, 2), [4e6 / inner.calls] * 2)
            self.assertEqual(inner.note(), "on two GPUs, whose clocks differed by 25.00 %: a time is what "
                             "the slower of them says")
        times = ["first has the time", "second waits", "second has the time"]
        calls = ["member", "member", "first waits"] * inner.calls
        self.assertEqual(order, times + (calls + times) * 3)
        reply = candidate.finish([{"outputs": host.outputs, "poison": p} for p in "ab"])
        self.assertEqual(reply["differing"], [])
        self.assertTrue(torch.equal(host.wrote(), self.X * 2))
        inner.kept[1][1][0][1, 2] += 1
        self.assertEqual(candidate._differing(("y",)),
                         [{"output": "y", "set": 1, "bytes": mock.ANY, "inputs": []}])
        candidate.release()
        self.assertEqual(candidate.halves, [])

    def test_others_are_copied_on_both(self):
        measurements, copied = measure.Measurements(), []

        def empty(_, dtype, device):
            return mock.Mock(copy_=lambda what: copied.append(device))
        with (mock.patch("torch.empty", side_effect=empty) as made,
              mock.patch.object(measure, "physics", lambda: {"l2_bytes": 8})):
            for second, want in ((None, ["a"]), (mock.Mock(device="b"), ["a", "b"]), (None, ["a"])):
                copied.clear()
                candidate = mock.Mock(device="a")
                candidate.candidate.second = second
                measurements._others(candidate)()
                self.assertEqual(copied, want)
        self.assertEqual(made.call_count, 4)


if __name__ == "__main__":
    unittest.main()
