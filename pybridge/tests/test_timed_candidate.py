"""What a candidate of a timing leaves behind where its calls cannot be captured. torch.cuda is a stand-in."""

from __future__ import annotations

import contextlib
import types
import unittest
import unittest.mock

import client  # noqa: F401  puts the bridge on sys.path

import timed_candidate


class PlainCacheTest(unittest.TestCase):
    """Before each measurement no part of the L2 cache is set aside."""

    def asked(self, reset: int, limit: int) -> tuple[str, list]:
        asked: list = []
        driver = types.SimpleNamespace(
            cuCtxResetPersistingL2Cache=lambda: asked.append("reset") or reset,
            cuCtxSetLimit=lambda which, size: asked.append((which, size.value)) or limit)
        with unittest.mock.patch("timed_candidate.ctypes.CDLL", lambda name: driver):
            return timed_candidate.plain_cache(), asked

    def test_it_is_asked_for(self):
        self.assertEqual(self.asked(0, 0), ("", ["reset", (6, 0)]))

    def test_a_device_that_refuses(self):
        self.assertEqual(self.asked(0, 801)[0], "reset the persisting lines of the L2 cache: CUDA error 801")

    def test_no_driver(self):
        with unittest.mock.patch("timed_candidate.ctypes.CDLL", side_effect=OSError):
            self.assertEqual(timed_candidate.plain_cache(), "")


class Cuda:
    """What Candidate calls of torch.cuda. A graph whose capture broke raises at its end and, as torch's does,
    leaves its stream the current one."""

    def __init__(self):
        self.current = "default"

    def namespace(self):
        @contextlib.contextmanager
        def graph(_graph, stream, capture_error_mode):
            before, self.current = self.current, stream
            try:
                yield
            except ValueError:
                raise RuntimeError("operation failed due to a previous error during capture") from None
            self.current = before

        def set_stream(stream):
            self.current = stream

        return types.SimpleNamespace(graph=graph, CUDAGraph=object, Stream=lambda: "the candidate's",
                                     current_stream=lambda: self.current, set_stream=set_stream)


class Capture(unittest.TestCase):
    def capture(self, call):
        cuda = Cuda()
        with unittest.mock.patch.object(timed_candidate.torch, "cuda", cuda.namespace()):
            made = timed_candidate.Candidate(2, call)
            try:
                made._capture(2)
            except RuntimeError as e:
                return cuda.current, str(e)
            return cuda.current, made.kept

    def test_a_capture_that_fails_leaves_the_stream_that_was_current(self):
        def call(i):
            raise ValueError("a synchronisation")
        current, said = self.capture(call)
        self.assertIn("during capture", said)
        self.assertEqual(current, "default")

    def test_a_capture_that_ends_does_too(self):
        self.assertEqual(self.capture(lambda i: (i,)), ("default", [(0,), (1,)]))


if __name__ == "__main__":
    unittest.main()
