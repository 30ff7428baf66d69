"""Restores a sandbox to its initial state. forked.py calls this between two workers, so that none leaves
anything to the next.

A worker can leave processes, files in tmpfs folders, System V shared memory and queues, kernel keys, and
changed limits of the first process, since any process of the same user can change them. Signals from inside
do not reach the first process of a PID namespace.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from collections.abc import Callable

KEYCTL, CLEAR = 250, 7  # on x86-64
KEYRINGS = (-3, -4, -5)  # of the session, of the user, of the user's session


class Box:
    """The initial state of the sandbox."""

    def __init__(self) -> None:
        if os.getpid() != 1:
            raise RuntimeError("want the first process of a sandbox")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_MSGQUEUE, (0, 0))  # queues that no table lists
        self.folders = _writable_folders()
        self.entries, self.limits = self._entries(), _limits()

    def reset(self) -> bool:
        """Ends every other process and removes what they left. Returns False if something remains."""
        self.end_others()
        for folder in self.folders:
            _walk(folder, self._remove)
        _remove_shared()
        for keyring in KEYRINGS:
            ctypes.CDLL(None).syscall(KEYCTL, CLEAR, keyring)
        return self._entries() == self.entries and _limits() == self.limits

    @staticmethod
    def end_others() -> None:
        """Ends every other process of the sandbox."""
        while True:
            try:
                os.kill(-1, signal.SIGKILL)
                os.waitpid(-1, 0)
            except (ProcessLookupError, ChildProcessError):
                return

    def _remove(self, path: str, is_folder: bool) -> None:
        if path not in self.entries:
            os.rmdir(path) if is_folder else os.unlink(path)

    def _entries(self) -> set[str]:
        found: set[str] = set()
        for folder in self.folders:
            _walk(folder, lambda path, _: found.add(path))
        return found


def _writable_folders() -> list[str]:
    """Returns the writable tmpfs folders."""
    found = []
    with open("/proc/self/mountinfo") as table:
        for line in table:
            fields, _, kind = line.partition(" - ")
            _, _, _, _, folder, options, *_ = fields.split()
            if kind.split()[0] == "tmpfs" and "rw" in options.split(","):
                found.append(folder.replace("\\040", " "))
    return found


def _walk(folder: str, each: Callable[[str, bool], None]) -> None:
    """Calls a function for everything below a folder on its file system, deepest first. Errors are ignored:
    the caller notices what remains."""
    device = os.stat(folder).st_dev
    open_folders = [(folder, False)]
    while open_folders:
        at, is_done = open_folders.pop()
        try:
            if is_done:
                each(at, True)
                continue
            if at != folder:
                open_folders.append((at, True))
                os.chmod(at, 0o700)
            with os.scandir(at) as entries:
                for entry in entries:
                    if entry.stat(follow_symlinks=False).st_dev != device or os.path.ismount(entry.path):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        open_folders.append((entry.path, False))
                    else:
                        each(entry.path, False)
        except OSError:
            continue


def _limits() -> list:
    kinds = sorted({value for name, value in vars(resource).items() if name.startswith("RLIMIT_")})
    return [os.sched_getaffinity(0), os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0),
            *(resource.getrlimit(kind) for kind in kinds)]


def _remove_shared() -> None:
    """Removes shared memory, semaphores and queues of System V."""
    libc = ctypes.CDLL(None)
    for kind, remove in (("shm", lambda i: libc.shmctl(i, 0, None)), ("sem", lambda i: libc.semctl(i, 0, 0)),
                         ("msg", lambda i: libc.msgctl(i, 0, None))):
        with open(f"/proc/sysvipc/{kind}") as table:
            for line in table.readlines()[1:]:
                remove(int(line.split()[1]))
