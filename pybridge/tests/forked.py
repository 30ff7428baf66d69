"""Runs files of tests, each in a process that is forked after torch was imported: the import costs more than
most of the tests. Standard input has a file in each line, and a file for what its tests print, with a tab
between; standard output answers each with the exit code."""

from __future__ import annotations

import os
import sys
import unittest
from pathlib import Path

import torch  # noqa: F401  (for the children)


def run(file: Path, log: str) -> None:
    """What python -m unittest -v does with a file, in its folder."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.chdir(file.parent)
    sys.path[0] = str(file.parent)
    unittest.main(module=None, argv=["python -m unittest", "-v", file.name])


def main() -> None:
    for line in sys.stdin:
        file, log = line.rstrip("\n").split("\t")
        child = os.fork()
        if not child:
            sys.stdin.close()
            run(Path(file), log)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
