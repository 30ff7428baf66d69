"""What the rows torch/all_to_all share: two members of a torch.distributed group in this process, each with
half of the first dim of every tensor, and what they send each other for expert parallelism.

A member is a thread with a device: cuda:0 and cuda:1 and NCCL, or the CPU and gloo. The group has its store
in memory, and torch's global state of process groups is not touched."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch

SECONDS = 20
"""How long a member waits for the other in an exchange."""


def half(n: int, member: int) -> range:
    """Returns the places, of n, that a member has: the first half, one longer where n is odd, or the rest."""
    return range(n - n // 2) if member == 0 else range(n - n // 2, n)


def devices_of(tensor: torch.Tensor) -> tuple[torch.device, ...]:
    """Returns the devices of the two members for a call that is given this tensor."""
    if tensor.device.type == "cuda":
        return torch.device("cuda", 0), torch.device("cuda", 1)
    return tensor.device, tensor.device


REMARK = "its two halves are threads of one process and share Python's lock, as two processes would not"


class Meeting(threading.Barrier):
    """Where both members wait for each other, and tell what they are about to send and to get."""

    def __init__(self) -> None:
        super().__init__(2)
        self.sizes: list[tuple[list[int], list[int]]] = [([], []), ([], [])]

    def agree(self, number: int, to: list[int], came: list[int]) -> None:
        """Waits for the other member. Raises ValueError in both where one expects other numbers of rows than
        are sent: gloo would end the process, and NCCL wait for ever."""
        self.sizes[number] = (to, came)
        self.wait()
        for sender, (to, _) in enumerate(self.sizes):
            for receiver, (_, came) in enumerate(self.sizes):
                if to[receiver] != came[sender]:
                    raise ValueError(f"member {sender} sends {to[receiver]} rows to member {receiver}, which "
                                     f"expects {came[sender]}")


class Member:
    """One of the two: its number, its device, and its end of the group."""

    def __init__(self, number: int, device: torch.device, group: Any, meeting: Meeting):
        self.number, self.device = number, device
        self._group, self._meeting = group, meeting

    def exchange(self, given: torch.Tensor, to: list[int], came: list[int]) -> torch.Tensor:
        """Sends the first to[0] of the leading dim of given to the first member and the next to[1] to the
        second. Returns what came, came[0] from the first and then came[1] from the second.

        The members meet before, so that one that failed keeps none waiting, and after: while a GPU waits in
        an exchange that the other has not begun, nothing may ask the driver for what waits for a GPU, such as
        memory."""
        out = torch.empty((sum(came), *given.shape[1:]), dtype=given.dtype, device=given.device)
        given = given.contiguous()
        if sum(to) != len(given):
            raise ValueError(f"member {self.number} has {len(given)} rows and sends {to}")
        self._meeting.agree(self.number, to, came)
        torch.distributed.all_to_all_single(out, given, came, to, group=self._group)
        self._meeting.wait()
        return out


class Pair:
    """The two members on their devices. The first works in the thread of the caller, on its stream, the
    second in a thread that is kept, on the default stream of its device."""

    def __init__(self, devices: tuple[torch.device, ...]):
        self._meeting = Meeting()
        self._second = ThreadPoolExecutor(1, "all_to_all")
        store, self.broken, self.members = torch.distributed.HashStore(), False, []

        def join(number: int) -> Member:
            return Member(number, devices[number], _group(store, number, devices[number]), self._meeting)
        self.members = self._both(join)

    def run(self, work: Callable[[Member], Any]) -> list:
        """Returns what work(member) returns for each of the two, which call it at the same time. A member
        that fails breaks the meetings of the other, which ends too, and the exception is raised. After it the
        pair is broken."""
        def of(number: int) -> Any:
            member = self.members[number]
            with torch.no_grad(), _current(member.device, number):
                return work(member)
        try:
            return self._both(of)
        except BaseException:
            self.broken = True
            raise

    def _both(self, of: Callable[[int], Any]) -> list:
        def guarded(number: int) -> tuple[Any, BaseException | None]:
            try:
                return of(number), None
            except BaseException as e:
                self._meeting.abort()
                return None, e
        second = self._second.submit(guarded, 1)
        results = [guarded(0), second.result()]
        faults = [e for _, e in results if e is not None]
        if faults:
            raise _of_both(faults)
        return [value for value, _ in results]


def _group(store: Any, number: int, device: torch.device) -> Any:
    """Returns a member's end of a group of two."""
    d = torch.distributed
    store, timeout = d.PrefixStore("all_to_all", store), timedelta(seconds=SECONDS)
    if device.type == "cuda":
        # what NCCL would set multicast up for does not occur here, and not every machine lets it
        os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
        options, kind = d.ProcessGroupNCCL.Options(), d.ProcessGroup.BackendType.NCCL
        options._timeout, options.global_ranks_in_group = timeout, [0, 1]
        backend = d.ProcessGroupNCCL(store, number, 2, options)
    else:
        options, kind = d.ProcessGroupGloo._Options(), d.ProcessGroup.BackendType.GLOO
        options._timeout = timeout
        options._devices = [d.ProcessGroupGloo.create_device(hostname="127.0.0.1")]
        backend = d.ProcessGroupGloo(store, number, 2, options)
    group = d.ProcessGroup(store, number, 2)
    group._register_backend(torch.device(device.type), kind, backend)
    return group


@contextmanager
def _current(device: torch.device, number: int) -> Iterator[None]:
    """A context in which a device is the current one: for the second member, whose thread has its own."""
    if number == 0 or device.type != "cuda":
        yield
        return
    with torch.cuda.device(device):
        yield


def _of_both(faults: list[BaseException]) -> BaseException:
    """Returns the exception for those of one or both members. That of a member whose meeting the other broke
    says nothing."""
    own = [e for e in faults if not isinstance(e, threading.BrokenBarrierError)] or faults[:1]
    said = list(dict.fromkeys(f"{type(e).__name__}: {e}" for e in own))
    full = [e for e in own if isinstance(e, (MemoryError, torch.OutOfMemoryError))]
    if len(said) == 1 or full:
        return (full or own)[0]
    both = RuntimeError(f"both members failed: {'; '.join(said)}")
    both.__cause__ = own[0]
    return both.with_traceback(own[0].__traceback__)


_PAIRS: list[tuple[tuple[torch.device, ...], Pair]] = []
"""Those of this process, broken ones too: to take a group down may wait for what never comes."""


def pair(devices: tuple[torch.device, ...]) -> Pair:
    """Returns the pair on these devices, which is made once, and anew after a call that failed."""
    for on, made in _PAIRS:
        if on == devices and not made.broken:
            return made
    _PAIRS.append((devices, Pair(devices)))
    return _PAIRS[-1][1]


def missing(on_gpu: bool, devices: int) -> str:
    """Returns why no pair can be made, as the end of a sentence; "" if it can. devices are those that a run
    may use."""
    d = torch.distributed
    if not on_gpu:
        gloo = d.is_available() and d.is_gloo_available()
        return "" if gloo else "needs a torch with gloo: this one has none"
    seen = torch.cuda.device_count()
    if min(devices, seen) < 2:
        has = f"has one of {seen}, and --gpus 0,1 gives it two" if seen > 1 else f"sees {seen}"
        return f"needs 2 GPUs: this run {has}"
    return "" if d.is_available() and d.is_nccl_available() else "needs a torch with NCCL: this one has none"


@dataclass(frozen=True)
class Halves:
    """The function of a row whose calls are spread over two devices: along their first dim the first half of
    every tensor, one longer where it is odd, lies on the first device, the rest on the second.

    of_member(member, *tensors, ranks=..., **attributes) is what a member does: it takes its half of every
    input and returns a tuple with its half of every output. ranks is the length of the whole first dim.

    A call divides its inputs, runs both members and joins what they return. Only together() is timed.
    """

    of_member: Callable[..., tuple]

    def divide(self, tensors: tuple[torch.Tensor, ...]) -> list[list[torch.Tensor]]:
        """Returns the halves of the tensors on the first device and on the second, where they are copies."""
        devices = devices_of(tensors[0])
        return [[t[p.start:p.stop].to(device) for t, p in
                 ((t, half(t.shape[0], number)) for t in tensors)] for number, device in enumerate(devices)]

    def together(self, halves: list[list[torch.Tensor]], **attributes) -> list[tuple]:
        """Returns the outputs of both members."""
        ranks = sum(each[0].shape[0] for each in halves)
        on = pair(tuple(torch.device(t.device) for t, *_ in halves))
        return on.run(lambda member: self.of_member(member, *halves[member.number], ranks=ranks,
                                                    **attributes))

    def join(self, halves: list[tuple]) -> tuple:
        """Returns the whole outputs, on the first device."""
        return tuple(torch.cat([a, b.to(a.device)]) for a, b in zip(*halves, strict=True))

    def __call__(self, *tensors, **attributes) -> tuple:
        return self.join(self.together(self.divide(tensors), **attributes))


class Routes:
    """Where a member's tokens go, and where what comes from both lies. A copy is a token of the member for a
    rank of which it chose an expert; copies are ordered by rank and then by token.

    choice        [ranks here, tokens, top], with any strides
    rank, token   [copies], int64: the token is counted through the ranks here
    first         the first of the ranks here, of all
    place         [rows that come], int64: the row, counted through the ranks here, in the order of coming
    received      [ranks here], int64: how many rows each gets
    copy          [all ranks, tokens here], int64: the number of the copy, where there is one
    to, came      how many rows go to either member, and come from it
    of_rank       how many go to each of all ranks
    """

    def __init__(self, member: Member, choice: torch.Tensor, ranks: int, experts: int):
        (here, self.tokens, _), device = choice.shape, choice.device
        self.member, self.each, self.first = member, experts // ranks, half(ranks, member.number).start
        self.room = ranks * self.tokens
        self.choice = choice.flatten(0, 1).long()
        self.chosen = (self.choice >= 0) & (self.choice < experts)
        self.rank_of = torch.where(self.chosen, self.choice // self.each, ranks)
        sent = torch.zeros((len(self.choice), ranks + 1), dtype=torch.bool, device=device)
        sent = sent.scatter_(1, self.rank_of, True)[:, :ranks].t()
        self.rank, self.token = sent.nonzero(as_tuple=True)
        self.copy = sent.flatten().cumsum(0).view(sent.shape) - 1
        counts = sent.sum(1)
        halves = [half(ranks, number) for number in (0, 1)]
        theirs = member.exchange(counts, [len(h) for h in halves], [here, here]).view(2, here)
        self.received = theirs.sum(0)
        numbers = torch.cat([counts, *theirs]).tolist()  # the host waits for a GPU once
        self.of_rank, from_ = numbers[:ranks], numbers[ranks:]
        self.came = [sum(from_[:here]), sum(from_[here:])]
        self.to = [sum(self.of_rank[h.start:h.stop]) for h in halves]
        # of a rank, first what comes from the first member
        begin = torch.arange(here, device=device) * self.room
        begin = torch.cat([begin, begin + theirs[0]])
        lengths, total = theirs.flatten(), sum(self.came)
        shift = begin - (lengths.cumsum(0) - lengths)
        self.place = torch.arange(total, device=device) + shift.repeat_interleave(lengths, output_size=total)

    def send(self, copies: torch.Tensor, past: float = 0) -> torch.Tensor:
        """copies [copies, ...] -> [ranks here * room, ...]: those that come, in their rows; past elsewhere.
        """
        came = self.member.exchange(copies, self.to, self.came)
        rows = came.new_full((len(self.received) * self.room, *came.shape[1:]), past)
        rows[self.place] = came
        return rows

    def send_back(self, rows: torch.Tensor) -> torch.Tensor:
        """rows [ranks here, room, ...] -> [copies, ...], each from its rank."""
        return self.member.exchange(rows.flatten(0, 1)[self.place], self.came, self.to)

    def copies(self, x: torch.Tensor) -> torch.Tensor:
        """x [ranks here, tokens, dim] -> the rows of the ranks here, [ranks here, room, dim]."""
        rows = self.send(x.flatten(0, 1)[self.token])
        return rows.view(x.shape[0], self.room, x.shape[2])

    def sums(self, rows: torch.Tensor) -> torch.Tensor:
        """rows [ranks here, room, dim] -> [ranks here, tokens, dim]: for each token here the sum of its rows,
        in fp32 in the order of the ranks."""
        back = self.send_back(rows)
        total = torch.zeros((len(self.choice), rows.shape[2]), device=rows.device)
        for token, row in zip(self.token.split(self.of_rank), back.split(self.of_rank)):
            total[token] += row.float()
        return total.to(rows.dtype).view(rows.shape[0], self.tokens, rows.shape[2])
