"""What other files of a repository do to the import of a user's file."""

from __future__ import annotations

import unittest
from unittest import mock

import client  # noqa: F401  (puts pybridge on sys.path)

import test_own_file
from test_own_file import own_file, own_lines


class OwnImports(test_own_file.Written):
    def test_a_file_beside_it_does_not_hide_a_package_of_the_repository(self):
        self.write(norm__in__norm="", norm__in__kernels__in__tile="WIDTH = 8", norm__in__mine="""
            from norm.kernels.tile import WIDTH
            """, plain__in__mine="import norm")
        (self.folder / ".git").mkdir()
        self.assertEqual(self.load("norm/mine.py").WIDTH, 8)
        self.assertTrue(hasattr(self.load("plain/mine.py"), "norm"))

    def test_an_import_that_another_file_ends_names_that_file(self):
        self.write(beside="raise NotImplementedError('no TMA')", mine="import beside", own="N = 1 / 0")
        with self.assertRaisesRegex(ImportError, r"mine.py:1: .*no TMA \(raised in .*beside.py\)"):
            self.load("mine.py")
        with self.assertRaisesRegex(ImportError, "own.py:1: ZeroDivisionError: [a-z ]+$"):
            self.load("own.py")

    def test_launches_of_an_import_end_when_their_time_is_up(self):
        self.write(mine="""
            import torch
            import triton
            import triton.language as tl
            @triton.jit
            def one(x):
                tl.store(x + tl.program_id(0), 1.0)
            def ones(n, x=None):
                x = torch.zeros(n, device="cuda")
                one[(n,)](x)
                return x
            FIRST = [ones(1 << 16) for _ in range(20)]
            """)
        with mock.patch.object(own_lines, "LAUNCHES_S", 0.5), mock.patch.object(own_lines, "_cut", []):
            module = self.load("mine.py")
            self.assertEqual(own_lines.left_out("dense"),
                             "dense; its import ran for 0.5 s: later launches of one are left out")
        self.assertLess(module.FIRST[0].sum(), 1 << 16)
        self.assertEqual(len(module.FIRST), 20)
        with own_file.called():
            self.assertEqual(module.ones(3).tolist(), [1, 1, 1])


if __name__ == "__main__":
    unittest.main()
