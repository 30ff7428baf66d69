"""Streams of a GPU that is not here: whose work is waited for, and whose is not."""

from __future__ import annotations

import unittest

import torch

import client  # noqa: F401  (puts pybridge on sys.path)

import gpu_stand_in
import stream_stand_in as streams


class Streams(unittest.TestCase):
    def setUp(self):
        self.addCleanup(streams.begin)

    def test_work_that_something_waits_for_is_not_left(self):
        for name, waits in {
            "the default stream": lambda s: streams.current().wait_stream(s),
            "the host": lambda s: s.synchronize(),
            "the host, for all": lambda s: streams.synchronized(),
            "an event of the stream": lambda s: streams.DEFAULT.wait_event(s.record_event()),
            "an event that waits": lambda s: s.record_event(streams.Event(enable_timing=False)).wait(),
            "an event the host waits for": lambda s: s.record_event().synchronize(),
            "the host that asks": lambda s: s.query(),
        }.items():
            with self.subTest(name):
                streams.begin()
                s = streams.Stream()
                with streams.entered(s):
                    self.assertIs(streams.current(), s)
                self.assertIs(streams.current(), streams.DEFAULT)
                waits(s)
                self.assertEqual(streams.unawaited(), "")

    def test_work_that_nothing_waits_for_is_left(self):
        def through_another(s):
            other = streams.Stream()
            other.wait_stream(s)

        def event_of_before(s):
            event = streams.Event()
            event.record()
            event.synchronize()

        for name, waits in {
            "nothing": lambda s: None, "the stream waits itself": lambda s: s.wait_stream(streams.current()),
            "another stream": through_another, "an event of the default stream": event_of_before,
        }.items():
            with self.subTest(name):
                streams.begin()
                s = streams.Stream()
                with s:
                    pass
                waits(s)
                self.assertEqual(streams.unawaited(),
                                 "left work on a stream of its own that nothing waits for")

    def test_an_event_marks_the_work_of_the_stream_it_is_recorded_on(self):
        s = streams.Stream()
        with streams.entered(s):
            event = streams.Event()
            event.record()
        streams.current().wait_event(event)
        self.assertEqual(streams.unawaited(), "")

    def test_the_default_stream_and_devices_are_nothing_to_wait_for(self):
        for entered in (streams.entered(streams.DEFAULT), streams.entered(None), streams.Device(0)):
            with entered:
                pass
            self.assertEqual(streams.unawaited(), "")

    def test_a_value_that_the_host_takes_is_waited_for(self):
        with gpu_stand_in._Meant():
            with streams.Stream():
                x = torch.arange(3.0)
                x.sum().item()
            self.assertEqual(streams.unawaited(), "")
            with streams.Stream():
                self.assertTrue(x.sum() > 2)
            self.assertEqual(streams.unawaited(), "")


if __name__ == "__main__":
    unittest.main()
