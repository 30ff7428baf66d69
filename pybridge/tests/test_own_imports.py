"""What other files of a repository do to the import of a user's file."""

from __future__ import annotations

import unittest

import client  # noqa: F401  (puts pybridge on sys.path)

import test_own_file


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


if __name__ == "__main__":
    unittest.main()
