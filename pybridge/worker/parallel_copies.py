"""Bytes that are copied and added up in pieces, by several threads: both give Python's lock away. One thread
takes as long over the crc32 of a large tensor as the GPU over a hundred calls with it."""

from __future__ import annotations

import ctypes
import functools
import os
import threading
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch

PIECE = 4 << 20
"""Bytes that one thread takes at a time."""

_POLYNOMIAL = 0xEDB88320  # of IEEE 802.3, its highest coefficient last


def copy_in(content: torch.Tensor, source: memoryview) -> int:
    """Copies host bytes to content, one-dimensional dense uint8 on any device, and gives their crc32."""
    if not len(source):
        return 0
    shared = torch.frombuffer(source, dtype=torch.uint8)
    if content.device.type == "cpu":
        return _summed(len(source), lambda first, end: (_move(content[first:end], shared[first:end]),
                                                        _crc32(content[first:end]))[1])

    torch.cuda.current_stream(content.device).synchronize()  # the threads copy on streams of their own

    def piece(first: int, end: int) -> int:
        staged = _move(_stage(end - first), shared[first:end])
        content[first:end].copy_(staged)
        return _crc32(staged)

    return _summed(len(source), piece)


def copy_out(target: memoryview, content: torch.Tensor) -> int:
    """Copies content, one-dimensional dense uint8 on any device, to host bytes, and gives the crc32 of what
    is there then."""
    if not len(target):
        return 0
    shared = torch.frombuffer(target, dtype=torch.uint8)
    return _summed(len(target),
                   lambda first, end: _crc32(_move(shared[first:end], _on_host(content[first:end]))))


def checksum(content: torch.Tensor) -> int:
    """crc32 of content, one-dimensional dense uint8 on any device, as the current stream leaves it."""
    if content.device.type == "cuda":
        torch.cuda.current_stream(content.device).synchronize()
    return _summed(content.numel(), lambda first, end: _crc32(_on_host(content[first:end])))


def _on_host(part: torch.Tensor) -> torch.Tensor:
    return part if part.device.type == "cpu" else _stage(part.numel()).copy_(part)


_LOCAL = threading.local()


def _stage(count: int) -> torch.Tensor:
    """count bytes of this thread's own, which the GPU reads and writes without the driver's help."""
    if not hasattr(_LOCAL, "stage"):
        _LOCAL.stage = torch.empty(PIECE, dtype=torch.uint8, pin_memory=True)
    return _LOCAL.stage[:count]


def _move(to: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """Copies on the host without torch's own threads, of which each of ours would wake as many as there are
    cores."""
    ctypes.memmove(to.data_ptr(), source.data_ptr(), source.numel())
    return to


def _crc32(content: torch.Tensor) -> int:
    return zlib.crc32((ctypes.c_char * content.numel()).from_address(content.data_ptr()))


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, min(8, os.cpu_count() or 1)), "triad")


def _summed(count: int, piece: Callable[[int, int], int]) -> int:
    """The crc32 of count bytes, of which piece(first, end) gives that of some."""
    if count <= PIECE:
        return piece(0, count) if count else 0
    starts = range(0, count, PIECE)
    sums = list(_threads().map(lambda first: piece(first, min(first + PIECE, count)), starts))
    total = sums[0]
    for first, part in zip(starts[1:], sums[1:]):
        total = _times(total, _shift(min(PIECE, count - first))) ^ part
    return total


# A crc32 is a polynomial modulo that of IEEE 802.3: that of two texts joined is the first's times x^(8*length
# of the second), plus the second's (M. Adler, zlib's crc32_combine).

def _times(a: int, b: int) -> int:
    """The product of two polynomials."""
    p = 0
    while a:
        if a >> 31:
            p ^= b
        a = a << 1 & 0xFFFFFFFF
        b = b >> 1 ^ (_POLYNOMIAL if b & 1 else 0)
    return p


@functools.cache
def _shift(count: int) -> int:
    """x^(8*count)."""
    power, all_ = 1 << 31 - 8, 1 << 31  # x^8 and 1
    while count:
        if count & 1:
            all_ = _times(all_, power)
        power = _times(power, power)
        count >>= 1
    return all_
