"""Workers that need not import torch: one process imports it and forks each of them.

    forked.py parent                      the process that imports; requests come over descriptor 3
    forked.py parent alone                the same as the first process of a sandbox, for one worker at a time
    forked.py worker --operators DIR      stands for one worker, which the parent forks
    forked.py confined --operators DIR    the same where the parent is in a sandbox

The driver starts a stand-in like a worker.py, with the same descriptors and descriptor 5, a socket to the
parent. The stand-in sends its descriptors to the parent, waits for the worker and ends like it: with the same
exit code, or with 128 plus the number of the signal. The worker joins the process group of its stand-in, so
that both are killed together. If no parent answers, the stand-in becomes a plain worker, unless the worker
must be in a sandbox.

The parent runs no user code, so every worker begins as if it had imported torch itself. The parent of a
sandbox shares it with its workers: before it forks the next one, it ends all processes of the last and
removes what it left (sandbox_reset.py). As the first process of the sandbox it gets no signal from them.
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


def stand_in(arguments: list[str], is_confined: bool) -> None:
    """Asks the parent to fork a worker, and ends like that worker."""
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
    if not begun and is_confined:
        os._exit(ENDED_UNKNOWN)
    if not begun:  # it has ended, and has begun nothing
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")
        os.execv(sys.executable, [sys.executable, "-u", "-X", "faulthandler", script, *arguments])
    for descriptor in (3, 4, PARENT_FD):  # the end of the worker must show in them
        os.close(descriptor)
    ended = ours.recv(16)
    os._exit(int(ended) if ended else ENDED_UNKNOWN)


# ---- the parent


WHOLE = "whole"
"""Argument of a parent that must import all of torch."""

ALONE = "alone"
"""Argument of a parent that is the first process of a sandbox and forks one worker at a time."""


def parent() -> None:
    """Imports what workers import, then forks one for every request, until the socket closes."""
    requests = socket.socket(fileno=3)
    _process_control(PR_SET_DUMPABLE, 0)  # code in one worker must not reach into later ones
    on_gpu = os.environ.get("TRIAD_DEVICE") == "gpu"
    if not on_gpu:
        os.environ["TRITON_INTERPRET"] = "1"
    import gc

    import bridge_folders  # noqa: F401
    gc.disable()  # imports are never freed; collecting among them costs a twelfth of the time
    import torch_import
    in_part = WHOLE not in sys.argv and ALONE not in sys.argv  # in a sandbox many workers share one import
    if in_part and not torch_import.without_metas():
        os.execv(sys.executable, [sys.executable, "-u", *sys.argv, WHOLE])
    import contextlib
    import select
    with contextlib.suppress(ImportError):  # a worker reports what is missing
        import integrity  # noqa: F401
        import launch  # noqa: F401
        import own_file  # noqa: F401
        import parallel_copies  # noqa: F401
        if not on_gpu:  # nothing here may use the GPU: it cannot be used after a fork
            import interpreter
            interpreter.correct()
            interpreter.call_once()
        if ALONE in sys.argv:
            _use_once(on_gpu)
    import worker  # noqa: F401
    gc.freeze()  # pages that nobody writes are shared
    gc.enable()
    ended, wakeup = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wakeup)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    waiting: dict[int, socket.socket] = {}
    box = None
    if ALONE in sys.argv:
        import sandbox_reset
        box = sandbox_reset.Box()
    while True:
        # of a sandbox no group can be killed from outside: its parent sees that the stand-in has ended
        ready = select.select([requests, ended, *(waiting.values() if box else ())], [], [])[0]
        if ended in ready:
            os.read(ended, 4096)
            _report_ends(waiting)
        if box and any(stand_in in ready for stand_in in waiting.values()):
            box.end_others()
            _forget(waiting)
        if requests in ready and not _fork(requests, waiting, box):
            return


def _use_once(on_gpu: bool) -> None:
    """Runs once, before any fork, what each worker of a sandbox would do first, imports of a first call
    included."""
    import torch

    from torch_calls import RecordedCalls
    with RecordedCalls():
        torch.zeros(1) + 1
    if not on_gpu:
        import interpreter
        interpreter.prove()


def _process_control(option: int, value: int) -> None:
    import ctypes
    ctypes.CDLL(None).prctl(option, value)


def _report_ends(waiting: dict[int, socket.socket]) -> None:
    """Sends the exit codes of workers that ended to their stand-ins."""
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


RESET = b"reset"
"""Request to the parent of a sandbox: remove what the last worker left. It answers, or ends if something
remains, and the next worker then needs another sandbox."""


def _forget(waiting: dict[int, socket.socket]) -> None:
    """Ends the stand-ins of workers that this process has ended."""
    for stand_in in waiting.values():
        stand_in.close()
    waiting.clear()


def _fork(requests: socket.socket, waiting: dict[int, socket.socket], box: object) -> bool:
    """Forks a worker for the next request. Returns False if there can be no other."""
    text, ancillary, _, _ = requests.recvmsg(LIMIT, socket.CMSG_SPACE(6 * 4))
    if not text or box and not box.reset():
        return False
    if box:
        _forget(waiting)
    if text == RESET:
        requests.sendall(RESET)
        return True
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
        _become(json.loads(text), given, above, box is not None)
    for descriptor in given:
        os.close(descriptor)
    waiting[pid] = stand_in
    try:
        stand_in.sendall(b"+")
    except OSError:
        pass
    return True


def _become(request: dict, given: list[int], above: int, is_confined: bool) -> None:
    """Turns a fresh child into the requested worker."""
    if is_confined:  # the group of the stand-in is not of this sandbox
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        request["folder"] = request["environment"]["TMPDIR"] = "/tmp"
    else:
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
    import faulthandler

    import wire
    import worker
    faulthandler.enable()
    wire.OWN_GROUP = True  # with the stand-in
    sys.argv = ["worker.py", *request["arguments"]]
    worker.main()


if __name__ == "__main__":
    if sys.argv[1] == "parent":
        parent()
    else:
        stand_in(sys.argv[2:], sys.argv[1] == "confined")
