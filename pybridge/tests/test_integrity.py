"""What a call changed is reported, and put back; what a library or nobody changed is not."""

from __future__ import annotations

import threading
import time
import types
import unittest

import torch

import client  # noqa: F401  (puts the worker's folder on the path)

import integrity
import tensors


class WatchTest(unittest.TestCase):
    def setUp(self):
        self.module = types.ModuleType("watched")
        self.module.check = self.check = lambda: "as it was"
        self.watch = integrity.Watch(self.module)
        self.watch.before()

    def test_nothing(self):
        torch.softmax(torch.ones(3), 0)
        self.assertEqual(self.watch.after([]), "")

    def test_functions_are_put_back(self):
        empty, self.module.check, torch.empty_like = torch.empty_like, lambda: "mine", torch.zeros_like
        self.assertEqual(self.watch.after(["torch.empty"]), "changed torch.empty, torch.empty_like, "
                                                            "watched.check, which later calls rely on")
        self.assertIs(torch.empty_like, empty)
        self.assertIs(self.module.check, self.check)
        self.assertEqual(self.watch.after([]), "")

    def test_clocks_that_a_file_replaced(self):
        """What is replaced when a file is imported is put back before its first call, and said."""
        counter, elapsed = time.perf_counter_ns, torch.cuda.Event.elapsed_time
        time.perf_counter_ns, torch.cuda.Event.elapsed_time = lambda: 0, lambda self, end: 1e-3
        self.assertEqual(self.watch.clocks(), "replaced time.perf_counter_ns, torch.cuda.streams.Event."
                                              "elapsed_time, which the times do not go by")
        self.assertIs(time.perf_counter_ns, counter)
        self.assertIs(torch.cuda.Event.elapsed_time, elapsed)
        self.assertEqual(self.watch.clocks() + self.watch.after([]), "")

    def test_a_clock_that_a_call_replaces(self):
        elapsed, torch.cuda.Event.elapsed_time = torch.cuda.Event.elapsed_time, lambda self, end: 1e-3
        self.assertIn("changed torch.cuda.streams.Event.elapsed_time", self.watch.after([]))
        self.assertIs(torch.cuda.Event.elapsed_time, elapsed)

    def test_a_deleted_function(self):
        del self.module.check
        self.assertIn("changed watched.check", self.watch.after([]))
        self.assertIs(self.module.check, self.check)

    def test_a_library_may(self):
        scope: dict = {}
        exec(compile("def check(): pass", integrity._LIBRARIES[0] + "library.py", "exec"), scope)
        self.module.check = scope["check"]
        self.assertEqual(self.watch.after([]), "")
        self.assertIs(self.module.check, scope["check"])

    def test_settings_are_put_back(self):
        for name, change in (("torch's number of threads",
                              lambda: torch.set_num_threads(torch.get_num_threads() + 1)),
                             ("torch's default dtype", lambda: torch.set_default_dtype(torch.float64)),
                             ("torch's deterministic mode", lambda: torch.use_deterministic_algorithms(True)),
                             ("the flushing of small numbers to zero",
                              lambda: torch.set_flush_denormal(True))):
            change()
            said = self.watch.after([])
            self.assertEqual(self.watch.after([]), "", name)
            if name.startswith("torch") or said:  # not every processor flushes
                self.assertIn(name, said)

    def test_threads(self):
        go = threading.Event()

        def waits():
            go.wait()
        thread = threading.Thread(target=waits)
        thread.start()
        self.assertEqual(self.watch.after([]), "left 1 thread running after it returned")
        go.set()
        thread.join()
        self.assertEqual(self.watch.after([]), "")


class EarlierTest(unittest.TestCase):
    def test_answers_of_their_own(self):
        earlier = integrity.Earlier()
        for n in range(3):
            self.assertEqual(earlier.overwritten({"y": torch.full((4,), float(n)), "none": None}), "")

    def test_the_same_memory_again(self):
        earlier, y = integrity.Earlier(), torch.zeros(8)
        earlier.overwritten({"y": y[:4]})
        self.assertIn("in the memory of the y that an earlier call gave", earlier.overwritten({"y": y[4:]}))

    def test_an_answer_that_is_spoilt(self):
        earlier, y = integrity.Earlier(), torch.zeros(8)
        earlier.overwritten({"y": y})
        y[3] = 1
        self.assertEqual(earlier.overwritten({"y": torch.zeros(8)}),
                         "overwrote the y that an earlier call gave")

    def test_large_answers_are_not_held(self):
        earlier = integrity.Earlier()
        earlier.overwritten({"y": torch.zeros(integrity.HELD_BYTES // 4 + 1)})
        self.assertEqual(earlier.answers, [])


class BytesTest(unittest.TestCase):
    def test_one_element_of_any_stride(self):
        expanded = torch.ones(1, dtype=torch.bfloat16).as_strided((1, 1), (0, 0))
        self.assertEqual(tensors.bytes_of(expanded).tolist(), [0x80, 0x3f])

    def test_the_order_of_rows(self):
        turned = torch.tensor([[1, 2], [3, 4]], dtype=torch.uint8).T
        self.assertEqual(tensors.bytes_of(turned).tolist(), [1, 3, 2, 4])


if __name__ == "__main__":
    unittest.main()
