"""What the tests of imported problems' formats share."""

import os
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import tiers

SUITE = tiers.Suite("problems", "pybridge/problems", "pybridge/truth", "pybridge/tests")


class ProblemCase(unittest.TestCase):
    """A test with an empty folder, path, on a machine whose GPU is not used. The fast tier asks the first of
    each class."""

    def setUp(self):
        SUITE.ask(self, type(self).__name__)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)
        on_a_processor = unittest.mock.patch.dict(os.environ, TRIAD_DEVICE="cpu")
        on_a_processor.start()
        self.addCleanup(on_a_processor.stop)
