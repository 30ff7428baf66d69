"""Tensors of a run: buffers between guard bands, poisoned allocations, copies from and to the shared
memory."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import torch

import parallel_copies
from wire import Memory, WireError

CANARIES = [0xC0 | (3 + 11 * i) % 64 for i in range(64)]
"""The bytes that fill guard bands, in the order of their choice. Buffers that exist at the same time have
different ones: else a copy that goes past the ends of both of its tensors would change nothing."""
GUARD = 4096
"""Bytes of canary on each side of a buffer; a multiple of every alignment that a kernel may ask for."""
PAGE = 2 << 20
"""Bytes of a page of a GPU, and the alignment that cudaMalloc gives large buffers: on a GPU a large buffer
begins at one, as cuda/cudevice/guard.go places it."""

DTYPES = {
    "fp64": torch.float64, "fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2, "int64": torch.int64, "int32": torch.int32, "int8": torch.int8,
    "uint8": torch.uint8, "bool": torch.bool, "uint32": torch.uint32,
    "e2m1x2": torch.float4_e2m1fn_x2,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}



def own_methods(tensor: torch.Tensor) -> list[str]:
    """Returns the methods and attributes of torch.Tensor that a tensor has replaced. Reading it through them
    would give whatever they compute at that moment."""
    return sorted(name for name in vars(tensor) if hasattr(torch.Tensor, name))


def without_own_methods(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor with the same elements and graph, and without replaced methods."""
    return torch.Tensor.view_as(tensor, tensor) if own_methods(tensor) else tensor


def is_number(tensor: torch.Tensor) -> bool:
    """Reports whether an element is one floating-point number. An element of fp4 holds two."""
    return tensor.is_floating_point() and tensor.dtype != torch.float4_e2m1fn_x2


# The element that fills a buffer under poison a and b, as (bytes, bits): a NaN with a payload, or a byte in
# integers.
_POISON = {
    "fp64": (8, 0x7FF5A5A5A5A5A5A5, 0xFFFBDBDBDBDBDBDB), "fp32": (4, 0x7FA5A5A5, 0xFFDBDBDB),
    "fp16": (2, 0x7DA5, 0xFEDB),
    "bf16": (2, 0x7FA5, 0xFFDB), "e4m3": (1, 0x7F, 0xFF), "e5m2": (1, 0x7D, 0xFE),
}
_SIGNED = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

# The third poison: numbers that a caller's own buffer may hold, in turn.
ORDINARY = "ordinary"
_ORDINARY_NUMBERS, _ORDINARY_INTEGERS, _ORDINARY_BOOLS = (0.0, 1.0, -2.0, 0.5), (0, 1, 3, 2), (0, 1)


def poison(flat: torch.Tensor, which: str) -> None:
    """Fills the bytes of flat, a one-dimensional dense tensor, with poison a, b or ORDINARY of its dtype."""
    if which == ORDINARY:
        elements = flat.view(_SIGNED[flat.element_size()])
        numbers = _ordinary(flat.dtype)
        for i, bits in enumerate(numbers):
            elements[i::len(numbers)] = bits
        return
    size, a, b = _POISON.get(NAMES.get(flat.dtype, ""), (1, 0x5A, 0xA5))
    bits = a if which == "a" else b
    signed = bits - (1 << 8 * size) if bits >> (8 * size - 1) else bits
    flat.view(torch.uint8).view(_SIGNED[size]).fill_(signed)


def _ordinary(dtype: torch.dtype) -> list[int]:
    """Returns the bits of the ordinary numbers of a dtype, as signed integers of its size."""
    if dtype.is_floating_point and dtype in NAMES and dtype != torch.float4_e2m1fn_x2:
        return torch.tensor(_ORDINARY_NUMBERS).to(dtype).view(_SIGNED[dtype.itemsize]).tolist()
    return list(_ORDINARY_BOOLS if dtype == torch.bool else _ORDINARY_INTEGERS)


class OutOfBounds(IndexError):
    """An access of a kernel outside the tensors that its pointer belongs to."""

    last: OutOfBounds | None = None
    """The latest one, since the code that launched the kernel may have caught it."""

    def __init__(self, message: str, program: tuple[int, int, int]):
        super().__init__(message)
        self.program = program
        OutOfBounds.last = self


EXTENT = "triad_extent"
"""An attribute of storages with guard bands: first byte and number of bytes between the bands. It lives as
long as any tensor in the storage."""


class Buffer:
    """count bytes between two guard bands, on a device."""

    alive: weakref.WeakSet[Buffer] = weakref.WeakSet()
    _choosing = threading.Lock()  # a row may have threads

    def __init__(self, name: str, count: int, device: torch.device):
        self.name = name
        self.count = count
        self._lead = PAGE if device.type == "cuda" and count >= PAGE else GUARD
        with self._choosing:
            taken = {buffer.canary for buffer in self.alive}
            self.canary = next((c for c in CANARIES if c not in taken), CANARIES[-1])
            self.alive.add(self)
        self._all = torch.full((self._lead + count + GUARD,), self.canary, dtype=torch.uint8, device=device)
        setattr(self._all.untyped_storage(), EXTENT, (self._lead, count))

    def bytes(self) -> torch.Tensor:
        """Returns the bytes between the bands, as uint8."""
        return self._all[self._lead:self._lead + self.count]

    def tensor(self, dtype: torch.dtype, shape, stride, start: int = 0) -> torch.Tensor:
        """Returns a view of the buffer; start is counted in elements from its first byte."""
        flat = self.bytes().view(dtype)
        return flat.as_strided(shape, stride, flat.storage_offset() + start)

    def owns(self, tensor: torch.Tensor) -> bool:
        """Reports whether a tensor lies in this buffer."""
        return tensor.untyped_storage().data_ptr() == self._all.untyped_storage().data_ptr()

    def again(self, tensor: torch.Tensor) -> tuple[Buffer, torch.Tensor]:
        """Returns a copy of the buffer, and the view of it that corresponds to a tensor in this one."""
        other = Buffer(self.name, self.count, tensor.device)
        if self.count:
            other.bytes().copy_(self.bytes())
        start = tensor.storage_offset() - self._lead // tensor.element_size()
        return other, other.tensor(tensor.dtype, tensor.shape, tensor.stride(), start)

    def extent(self) -> tuple[int, int]:
        """Returns the address of the first byte between the bands, and the number of bytes."""
        return self._all.data_ptr() + self._lead, self.count

    def report(self) -> list[dict[str, Any]]:
        """Returns an entry for each guard band that has changed."""
        found = []
        behind = self._lead + self.count
        for band, first in ((self._all[:self._lead], -self._lead), (self._all[behind:], 0)):
            changed = torch.nonzero(band != self.canary).flatten()
            if changed.numel():
                found.append({"buffer": self.name, "bytes": first + int(changed[0]),
                              "count": changed.numel()})
        return found


def checksum(buffer: Buffer) -> int:
    """Returns the crc32 of the bytes between the bands."""
    return parallel_copies.checksum(buffer.bytes())


def load(memory: Memory, ref: dict[str, Any], device: torch.device) -> tuple[Buffer, torch.Tensor]:
    """Copies the storage of a reference into a guarded buffer and returns the tensor in it, with the
    reference's strides."""
    dtype, count, start = DTYPES[ref["dtype"]], ref["bytes"], ref.get("start", 0)
    shape, stride = ref["shape"], ref["stride"]
    reach = start + sum((n - 1) * s for n, s in zip(shape, stride)) + 1 if all(shape) else 0
    if min(stride, default=0) < 0 or start < 0 or reach * dtype.itemsize > count:
        raise WireError(f"tensor {ref['name']}: shape {shape} with strides {stride} from {start} does not "
                        f"fit into {count} bytes")
    view = memory.view(ref)
    buffer = Buffer(ref["name"], count, device)
    found = parallel_copies.copy_in(buffer.bytes(), view)
    if found != ref.get("crc32", found):
        raise WireError(f"tensor {ref['name']}: crc32 {found}, want {ref['crc32']}")
    return buffer, buffer.tensor(dtype, shape, stride, start)


def store(memory: Memory, ref: dict[str, Any], tensor: torch.Tensor) -> int:
    """Copies a contiguous tensor into the storage of a reference of its size, and returns that storage's
    crc32."""
    view = memory.view(ref)
    if tensor.nbytes != len(view):
        raise WireError(f"output {ref['name']}: {len(view)} bytes of shared memory for a tensor of "
                        f"{tensor.nbytes}")
    if not len(view):
        return 0
    return parallel_copies.copy_out(view, bytes_of(tensor.resolve_conj().resolve_neg()))


def bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """Returns the bytes of a tensor's elements in row-major order. A tensor that torch calls contiguous may
    have any stride along a dim of one element, such as 0 after expand, and torch cannot view its bytes."""
    dense = tensor.detach().contiguous()
    return dense.as_strided((dense.numel(),), (1,)).view(torch.uint8)


def row_major(shape) -> list[int]:
    """Returns the strides of a contiguous tensor, in elements."""
    strides, n = [], 1
    for size in reversed(shape):
        strides.append(n)
        n *= max(size, 1)
    return strides[::-1]


class PoisonedAllocations:
    """A context in which tensors from torch.empty and its relatives are poisoned and lie between guard bands,
    so that unwritten elements and writes past the end show. It does not affect memory that torch's operators
    allocate for themselves: they write all of it."""

    PATCHED = ((torch, "empty"), (torch, "empty_like"), (torch, "empty_strided"), (torch.Tensor, "new_empty"),
               (torch.Tensor, "new_empty_strided"))

    def __init__(self, which: str):
        self.which = which
        self.buffers: list[Buffer] = []
        self.replaced: list[str] = []  # allocating functions that other code replaced meanwhile

    def __enter__(self) -> PoisonedAllocations:
        self._originals = [getattr(owner, name) for owner, name in self.PATCHED]
        self._installed = [self._poisoning(original) for original in self._originals]
        for (owner, name), poisoning in zip(self.PATCHED, self._installed):
            setattr(owner, name, poisoning)
        return self

    def __exit__(self, *_) -> None:
        for (owner, name), original, installed in zip(self.PATCHED, self._originals, self._installed):
            if vars(owner).get(name) is not installed:
                self.replaced.append(f"{owner.__name__}.{name}")
            setattr(owner, name, original)

    def _poisoning(self, original):
        def allocate(*args, **kwargs):
            plain = original(*args, **kwargs)
            usable = (type(plain) is torch.Tensor and plain.layout is torch.strided
                      and plain.device.type in ("cpu", "cuda") and plain.dtype in NAMES)
            if not usable or plain.requires_grad or plain.numel() == 0:
                return plain
            buffer = Buffer("", plain.untyped_storage().nbytes(), plain.device)
            poison(buffer.bytes().view(plain.dtype), self.which)
            self.buffers.append(buffer)
            return buffer.tensor(plain.dtype, plain.shape, plain.stride())
        return allocate

    def report(self, outputs: dict[str, Any]) -> list[dict[str, Any]]:
        """Returns the changed guard bands. A buffer is named after the output in it, or "workspace"."""
        found = []
        for buffer in self.buffers:
            buffer.name = next((n for n, t in outputs.items() if isinstance(t, torch.Tensor)
                                and buffer.owns(t)), "workspace")
            found += buffer.report()
        return found
