"""Workers that need not import torch: one process imports it and forks each of them.

    forked.py parent                      the process that imports; requests come over descriptor 3
    forked.py worker --operators DIR      stands for one worker, which the parent forks

The driver starts a stand-in as it starts a worker.py, with the same descriptors and descriptor 5, the other
end of the parent's. The stand-in hands what it has to the parent, waits for the worker and ends as it ended:
with its exit code, or with 128 and the number of the signal. The worker is in the process group of its
stand-in, so that both are killed together. Where no parent answers, the stand-in becomes a plain worker.

Nothing of a user's runs in the parent: every worker begins as if it had imported torch itself.
"""

from __future__ import annotations

import array
import json
import os
import signal
import socket
import sys

PARENT_FD = 5
LIMIT = 1 << 18  # of a request

PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4

ENDED_UNKNOWN = 70
"""The exit code of a stand-in whose parent ended before the worker did."""


# ---- the stand-in


def stand_in(arguments: list[str]) -> None:
    """Has the parent fork a worker, and ends as it does."""
    ours, theirs = socket.socketpair()
    request = json.dumps({"arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd(),
                          "group": os.getpgrp()}).encode()
    try:
        parent = socket.socket(fileno=os.dup(PARENT_FD))
        descriptors = array.array("i", [0, 1, 2, 3, 4, theirs.fileno()])
        parent.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
        theirs.close()
        begun = ours.recv(1)
    except OSError:
        begun = b""
    if not begun:  # it has ended, and has begun nothing
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")
        os.execv(sys.executable, [sys.executable, "-u", "-X", "faulthandler", script, *arguments])
    for descriptor in (3, 4, PARENT_FD):  # the end of the worker must show in them
        os.close(descriptor)
    ended = ours.recv(16)
    os._exit(int(ended) if ended else ENDED_UNKNOWN)


# ---- the parent


WHOLE = "whole"
"""Says to a parent that torch cannot be imported in part."""


def parent() -> None:
    """Imports what workers import, then forks one for every request, until nobody can ask any more."""
    requests = socket.socket(fileno=3)
    _process_control(PR_SET_DUMPABLE, 0)  # what a worker runs must not reach into those that come after it
    os.environ["TRITON_INTERPRET"] = "1"
    import gc

    import bridge_folders  # noqa: F401
    gc.disable()  # what is imported stays: to look through it again and again costs a twelfth of the time
    import torch_import
    if WHOLE not in sys.argv and not torch_import.without_metas():
        os.execv(sys.executable, [sys.executable, "-u", "-X", "faulthandler", __file__, "parent", WHOLE])
    import contextlib
    import select
    with contextlib.suppress(ImportError):  # a worker says what is missing
        import integrity  # noqa: F401
        import interpreter
        import launch  # noqa: F401
        import own_file  # noqa: F401
        import pieces  # noqa: F401
        interpreter.correct()
        interpreter.call_once()
    import worker  # noqa: F401
    gc.freeze()  # pages that nobody writes are shared
    gc.enable()
    told, tell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(tell)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    waiting: dict[int, socket.socket] = {}
    while True:
        ready = select.select([requests, told], [], [])[0]
        if told in ready:
            os.read(told, 4096)
            _tell(waiting)
        if requests in ready and not _fork(requests, waiting):
            return


def _process_control(option: int, value: int) -> None:
    import ctypes
    ctypes.CDLL(None).prctl(option, value)


def _tell(waiting: dict[int, socket.socket]) -> None:
    """Tells the stand-ins of workers that ended how they did."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        stand_in = waiting.pop(pid, None)
        if stand_in is None:
            continue
        code = 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        try:
            stand_in.sendall(str(code).encode())
        except OSError:  # it was killed with the worker
            pass
        stand_in.close()


def _fork(requests: socket.socket, waiting: dict[int, socket.socket]) -> bool:
    """Forks a worker for the next request; False where no other can come."""
    text, ancillary, _, _ = requests.recvmsg(LIMIT, socket.CMSG_SPACE(6 * 4))
    if not text:
        return False
    descriptors = array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(data[:len(data) - len(data) % descriptors.itemsize])
    *given, status = descriptors
    stand_in = socket.socket(fileno=status)
    above = os.getpid()
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        requests.detach()
        for other in waiting.values():
            other.close()
        stand_in.close()
        _become(json.loads(text), given, above)
    for descriptor in given:
        os.close(descriptor)
    waiting[pid] = stand_in
    try:
        stand_in.sendall(b"+")
    except OSError:
        pass
    return True


def _become(request: dict, given: list[int], above: int) -> None:
    """Makes a fresh child the worker that was asked for."""
    try:
        os.setpgid(0, request["group"])
    except OSError:  # the stand-in was killed meanwhile
        os._exit(ENDED_UNKNOWN)
    _process_control(PR_SET_PDEATHSIG, signal.SIGKILL)
    _process_control(PR_SET_DUMPABLE, 1)
    if os.getppid() != above:
        os._exit(ENDED_UNKNOWN)
    high = [os.dup2(descriptor, 100 + i) for i, descriptor in enumerate(given)]
    for i, descriptor in enumerate(high):
        os.dup2(descriptor, i)
    os.closerange(len(high), 512)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    import wire
    import worker
    wire.OWN_GROUP = True  # with the stand-in
    sys.argv = ["worker.py", *request["arguments"]]
    worker.main()


if __name__ == "__main__":
    if sys.argv[1] == "parent":
        parent()
    else:
        stand_in(sys.argv[2:])
