"""What the tests of an operator's rows share: a worker, and one call of a row. They stand in the
operator's room, internal/catalog/<op>/test_rows.py."""

from __future__ import annotations

import unittest

import torch

from client import PARENT, Client


class Rows(unittest.TestCase):
    """Tests of one operator's rows, through a worker."""

    op = ""
    worker: Client

    @classmethod
    def setUpClass(cls):
        cls.worker = Client(parent=PARENT)
        cls.addClassCleanup(cls.worker.close)
        cls.worker.ask("load", {"op": cls.op})

    def setUp(self):
        torch.manual_seed(5)

    def call(self, name, direction, inputs, outputs, **attributes):
        """The launch that the worker reports of a row, and the outputs [(name, dtype, shape)] by name."""
        reply, got = self.worker.run(self.op, name, direction, inputs, outputs, "a", **attributes)
        return reply["launches"][0], got

    def forward(self, name, inputs, outputs, **attributes):
        """The outputs of a forward that nothing is wrong with."""
        launch, got = self.call(name, "forward", inputs, outputs, **attributes)
        self.assertIsNone(launch.get("message"))
        return got[0]
