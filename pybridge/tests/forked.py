"""Runs files of tests, each in a process that is forked after torch was imported: the import costs more than
most of the tests. Standard input has a file in each line, and a file for what its tests print, with a tab
between; standard output answers each with the exit code.

The workers of these tests are forked too, by the product's parent of workers: client.PARENT."""

from __future__ import annotations

import os
import socket
import subprocess
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


def parent_of_workers() -> tuple[socket.socket, subprocess.Popen]:
    """Starts the product's parent of workers, which ends when the returned socket is closed everywhere."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    script = Path(__file__).resolve().parents[1] / "worker" / "forked.py"

    def place():
        os.dup2(theirs.fileno(), 100)
        os.dup2(100, 3)
        os.closerange(4, 128)

    started = subprocess.Popen([sys.executable, "-u", "-X", "faulthandler", str(script), "parent"],
                               preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL)
    theirs.close()
    return ours, started


def main() -> None:
    ask, parent = parent_of_workers()
    os.environ["TRIAD_TEST_PARENT"] = str(ask.fileno())
    for line in sys.stdin:
        file, log = line.rstrip("\n").split("\t")
        child = os.fork()
        if not child:
            sys.stdin.close()
            run(Path(file), log)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    ask.close()
    parent.wait()  # what its workers cost counts


if __name__ == "__main__":
    main()
