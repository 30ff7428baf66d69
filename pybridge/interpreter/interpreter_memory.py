"""GPU memory for Triton 3.6's interpreter, which itself reads and writes wherever a pointer points and fills
masked lanes of a load with 0.

* A pointer knows the tensors that it may point into: those of the arguments that it was computed from. Its
  type carries them, since every operation hands on the type of its operand.
* A load, a store or an atomic operation whose own mask leaves a lane outside these tensors is OutOfBounds,
  before it reads or writes anything. Memory that surrounds a tensor on purpose, a guard band, is outside.
* A store through a tensor descriptor writes whole 16 bytes, as the copy engine of Hopper and later does.
* Masked lanes of a load without `other` or `padding_option` hold poison: NaN, or a large odd number. On a GPU
  they are undefined.

An address that a kernel computes from integers points into the guarded buffer or argument that holds it; one
in neither is not checked.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter

import tensors

COPY_ENGINE_BYTES = 16
"""What a copy engine writes at once."""

_BUILDER = interpreter.InterpreterBuilder
_load_anywhere = interpreter._interpreter.load
_store_anywhere = interpreter._interpreter.store


# ---- places


class _Place:
    """Returns the bytes of a tensor's storage."""

    def __init__(self, name: str, first: int, count: int):
        self.name, self.first, self.count = name, first, count
        self._views: dict[np.dtype, np.ndarray] = {}

    def elements(self, dtype: np.dtype) -> np.ndarray:
        """Returns its elements from the first byte on, without an incomplete last one."""
        found = self._views.get(dtype)
        if found is None:
            whole = self.count - self.count % dtype.itemsize
            memory = (ctypes.c_char * whole).from_address(self.first)
            found = self._views[dtype] = np.frombuffer(memory, dtype)
        return found


class _Pointer(tl.pointer_type):
    """The type of pointers into a set of places."""

    def __init__(self, plain: tl.pointer_type, places: tuple[_Place, ...]):
        super().__init__(plain.element_ty, plain.address_space, plain.const)
        self.places = places


class _Launch:
    """The places of the arguments of the launch that runs, by the first byte of their storage."""

    def __init__(self) -> None:
        self.places: dict[int, _Place] = {}

    def place(self, tensor: Any, name: str = "") -> _Place:
        storage = tensor.untyped_storage()
        begin = storage.data_ptr()
        found = self.places.get(begin)
        if found is None:
            before, count = getattr(storage, tensors.EXTENT, (0, storage.nbytes()))
            found = self.places[begin] = _Place(name, begin + before, count)
        elif name and name not in found.name.split(" and "):
            found.name = f"{found.name} and {name}" if found.name else name
        return found


_launch = _Launch()


def _places(handle: Any) -> tuple[_Place, ...]:
    """Returns where a pointer may point to; nothing if that is not known."""
    return getattr(handle.dtype.scalar, "places", ())


def _plain(pointer: tl.pointer_type) -> tl.pointer_type:
    """The type of pointers that may point anywhere."""
    return tl.pointer_type(pointer.element_ty, pointer.address_space, pointer.const)


def _holding(addresses: np.ndarray) -> tuple[_Place, ...]:
    """Returns the places that hold these addresses; nothing if one of them is in none."""
    known = [*_launch.places.values(), *(_Place("a buffer", *b.extent()) for b in tensors.Buffer.alive)]
    found: dict[_Place, None] = {}
    for address in np.unique(addresses):
        holding = [p for p in known if p.first <= int(address) < p.first + max(p.count, 1)]
        if not holding:
            return ()
        found[holding[0]] = None
    return tuple(found)


# ---- accesses


class Traffic:
    """The bytes that the kernels of a launch have read and written, in the lanes that no mask leaves out."""

    read = written = 0


def _active(pointers: Any, mask: np.ndarray | None) -> tuple[np.ndarray | None, int]:
    """The mask, None where it leaves no lane out, and the number of lanes that it keeps."""
    lanes = pointers.data.size
    kept = lanes if mask is None else int(np.count_nonzero(mask))
    return mask if kept < lanes else None, kept


def _elements(what: str, pointers: Any, mask: np.ndarray | None, dtype: np.dtype) -> tuple[Any, Any]:
    """The elements of the place that an access is in, and the index of each lane there, 0 where it is masked
    off. Nothing where the lanes are in several places, in one that is not known, or between two elements. An
    access outside of its places raises."""
    places, size = _places(pointers), dtype.itemsize
    for place in places:
        offsets = pointers.data - np.uint64(place.first)  # in front of it they wrap, far beyond its end
        if mask is not None:
            offsets = offsets * mask
        if place.count >= size and int(offsets.max(initial=0)) <= place.count - size:
            if int(np.bitwise_or.reduce(offsets, axis=None)) & (size - 1):
                return None, None
            return place.elements(dtype), (offsets >> np.uint64(size.bit_length() - 1)).view(np.int64)
    if places and _outside(pointers, mask, size, places).any():
        raise _complaint(what, pointers, mask, size, places)
    return None, None


def _outside(pointers: Any, mask: np.ndarray | None, size: int, places: tuple[_Place, ...]) -> np.ndarray:
    """Returns the lanes that are in none of the places."""
    outside = np.ones(pointers.data.shape, bool) if mask is None else mask.copy()
    for place in places:
        if place.count >= size:
            outside &= pointers.data - np.uint64(place.first) > np.uint64(place.count - size)
    return outside


def _complaint(what: str, pointers: Any, mask: np.ndarray | None, size: int,
               places: tuple[_Place, ...]) -> tensors.OutOfBounds:
    outside = _outside(pointers, mask, size, places).reshape(-1)
    lane = int(outside.argmax())
    address = int(pointers.data.reshape(-1)[lane])
    nearest = min(places, key=lambda p: max(p.first - address, address + size - p.first - p.count))
    element, of = (address - nearest.first) // size, nearest.count // size
    lanes = f"; {outside.sum()} of {outside.size} lanes are outside" if outside.size > 1 else ""
    message = f"{what} element {element} of {nearest.name or 'a tensor'}, which has {of}{lanes}"
    return tensors.OutOfBounds(message, interpreter.interpreter_builder.grid_idx)


def _poison(shape: tuple[int, ...], dtype: tl.dtype) -> np.ndarray:
    """Returns the poison of masked lanes whose contents a load leaves open."""
    numbers = interpreter._get_np_dtype(dtype)
    if numbers.kind == "f":
        return np.full(shape, np.nan, numbers)
    if numbers.kind == "b":
        return np.ones(shape, numbers)
    bits = _NAN_BITS.get(dtype.name, int.from_bytes(b"\x5b" * numbers.itemsize, "little"))
    return np.full(shape, bits, numbers)


_NAN_BITS = {"bf16": 0x7FC0, "fp8e4nv": 0x7F, "fp8e5": 0x7F, "fp8e4b8": 0x80, "fp8e5b16": 0x80}


def load(pointers: Any, mask: np.ndarray | None, other: Any) -> Any:
    """Returns the handle of the elements at pointers; of lanes that the mask leaves out what `other` has
    there, or poison."""
    dtype = pointers.get_element_ty()
    numbers = interpreter._get_np_dtype(dtype)
    mask, lanes = _active(pointers, mask)
    elements, indices = _elements("tl.load reads", pointers, mask, numbers)
    Traffic.read += lanes * numbers.itemsize
    rest = None
    if mask is not None:
        rest = other.data if other is not None else _poison(mask.shape, dtype)
    if elements is None:
        everywhere = np.ones(pointers.data.shape, bool)
        data = _load_anywhere(pointers.data, everywhere if mask is None else mask,
                              np.zeros(everywhere.shape, numbers) if rest is None else rest, numbers)
        return interpreter.TensorHandle(data, dtype)
    data = elements.take(indices)
    if rest is not None:
        np.copyto(data, rest, where=~mask)
    return interpreter.TensorHandle(data, dtype)


class _Other:
    """Whether the load that runs has an `other`. Triton's own hands over none that is a single 0: it asks
    whether `other` is true."""

    given = False


def _load_legacy(original: Callable) -> Callable:
    @functools.wraps(original)
    def load(self, pointers, mask, other, *rest, **named):
        _Other.given = other is not None
        try:
            return original(self, pointers, mask, other, *rest, **named)
        finally:
            _Other.given = False
    return load


def _create_load(self, pointers, cache_modifier, eviction_policy, is_volatile):
    return load(pointers, None, None)


def _create_masked_load(self, pointers, mask, other, cache_modifier, eviction_policy, is_volatile):
    mask = mask if isinstance(mask, np.ndarray) else mask.data
    if other is None and _Other.given:
        dtype = pointers.get_element_ty()
        other = interpreter.TensorHandle(np.zeros(mask.shape, interpreter._get_np_dtype(dtype)), dtype)
    return load(pointers, mask, other)


def _create_store(self, pointers, value, cache_modifier, eviction_policy):
    store(pointers, value.data, None)


def _create_masked_store(self, pointers, value, mask, cache_modifier, eviction_policy):
    store(pointers, value.data, mask if isinstance(mask, np.ndarray) else mask.data)


def _create_descriptor_store(self, descriptor, value, indices):
    """A store through a descriptor, as the copy engine of Hopper and later GPUs writes it: where rows of the
    described shape are no multiple of 16 bytes, they end at the next one
    (results/published/lab/cutile.txt; triton-lang/triton#11583)."""
    chunk = COPY_ENGINE_BYTES // interpreter._get_np_dtype(descriptor.base.dtype.element_ty).itemsize
    extent = descriptor.shape[-1]
    reaches = interpreter.TensorHandle(extent.data + -extent.data % chunk, extent.dtype)
    shape = [*descriptor.shape[:-1], reaches]
    reached = interpreter.TensorDescHandle(descriptor.base, shape, descriptor.strides, descriptor.block_shape,
                                           descriptor.padding)
    pointers, mask = reached.materialize_pointers(indices)
    store(pointers, value.data, mask,
          f"a descriptor's store, which ends at a multiple of {COPY_ENGINE_BYTES} bytes on Hopper, writes")


def store(pointers: Any, value: np.ndarray, mask: np.ndarray | None, what: str = "tl.store writes") -> None:
    """Writes elements where pointers point and the mask leaves no lane out."""
    numbers = interpreter._get_np_dtype(pointers.get_element_ty())
    mask, lanes = _active(pointers, mask)
    elements, indices = _elements(what, pointers, mask, numbers)
    Traffic.written += lanes * numbers.itemsize
    if elements is None or value.dtype != numbers:
        _store_anywhere(pointers.data, value, np.ones(pointers.data.shape, bool) if mask is None else mask)
    elif mask is None:
        elements[indices] = value
    else:
        elements[indices[mask]] = value[mask]


def _create_atomic_rmw(original: Callable) -> Callable:
    @functools.wraps(original)
    def create_atomic_rmw(self, operation, pointers, value, mask, *rest):
        active = mask.data
        numbers = interpreter._get_np_dtype(pointers.get_element_ty())
        left_out, lanes = _active(pointers, active)
        _elements("an atomic operation updates", pointers, left_out, numbers)
        updated = lanes * numbers.itemsize
        Traffic.read, Traffic.written = Traffic.read + updated, Traffic.written + updated
        handle = original(self, operation, pointers, value, mask, *rest)
        if left_out is not None:
            rest_of_it = _poison(handle.data.shape, handle.dtype.scalar)
            handle.data = np.where(active.reshape(handle.data.shape), handle.data, rest_of_it)
        return handle
    return create_atomic_rmw


def _create_atomic_cas(original: Callable) -> Callable:
    @functools.wraps(original)
    def create_atomic_cas(self, pointers, *rest):
        _elements("tl.atomic_cas updates", pointers, None,
                  interpreter._get_np_dtype(pointers.get_element_ty()))
        return original(self, pointers, *rest)
    return create_atomic_cas


# ---- pointers


def _create_bitcast(original: Callable) -> Callable:
    """Wraps create_bitcast: a pointer made of another one, or of an integer, points into the same places."""
    @functools.wraps(original)
    def create_bitcast(self, source, target):
        handle = original(self, source, target)
        if handle.dtype.is_ptr():
            places = _places(source) if source.dtype.scalar.is_ptr() else _holding(handle.data)
            handle.dtype = _Pointer(handle.dtype, places) if places else handle.dtype
        return handle
    return create_bitcast


def _either(original: Callable, first: int) -> Callable:
    """Wraps an operation that takes lanes from two operands, of which this argument is the first. If one may
    point anywhere, so may the result."""
    @functools.wraps(original)
    def chosen(self, *arguments):
        handle = original(self, *arguments)
        if handle.dtype.is_ptr():
            ways = [_places(operand) for operand in arguments[first:first + 2]]
            handle.dtype = (_Pointer(handle.dtype, tuple(dict.fromkeys(itertools.chain(*ways)))) if all(ways)
                            else _plain(handle.dtype))
        return handle
    return chosen


def _arguments(original: Callable) -> Callable:
    """Records where the arguments of a launch lie, by their names."""
    @functools.wraps(original)
    def init_args(self, positional, named):
        global _launch
        found = original(self, positional, named)
        _launch = _Launch()
        for name, value in [*zip(self.arg_names, found[0]), *found[1].items()]:
            for tensor in _tensors(value):
                _launch.place(tensor, name)
        return found
    return init_args


def _tensors(value: Any) -> list[Any]:
    """Returns the tensors of an argument: a tensor, a descriptor of one or a tuple of them."""
    if isinstance(value, tuple):
        return [tensor for part in value for tensor in _tensors(part)]
    if isinstance(value, interpreter.TensorDescriptor):
        return _tensors(value.base)
    plain = interpreter._unwrap_tensor(value)
    return [plain] if hasattr(plain, "untyped_storage") else []


def argument(value: Any, converted: Any) -> Any:
    """Returns the kernel's handle of a tensor, with the place that it points to."""
    if isinstance(converted, tl.tensor) and converted.dtype.is_ptr():
        pointer = _Pointer(converted.dtype, (_launch.place(interpreter._unwrap_tensor(value)),))
        return tl.tensor(interpreter.TensorHandle(converted.handle.data, pointer), pointer)
    return converted


_REINTERPRETED = _create_bitcast(_BUILDER.create_bitcast)
_REINTERPRETS = ("create_bitcast", "create_int_to_ptr", "create_ptr_to_int")

CORRECTIONS = (
    (TritonSemantic, "_load_legacy", _load_legacy(TritonSemantic._load_legacy)),
    (_BUILDER, "create_load", _create_load), (_BUILDER, "create_masked_load", _create_masked_load),
    (_BUILDER, "create_store", _create_store), (_BUILDER, "create_masked_store", _create_masked_store),
    (_BUILDER, "create_descriptor_store", _create_descriptor_store),
    (_BUILDER, "create_atomic_rmw", _create_atomic_rmw(_BUILDER.create_atomic_rmw)),
    (_BUILDER, "create_atomic_cas", _create_atomic_cas(_BUILDER.create_atomic_cas)),
    *((_BUILDER, name, _REINTERPRETED) for name in _REINTERPRETS),
    (_BUILDER, "create_select", _either(_BUILDER.create_select, 1)),
    *((_BUILDER, name, _either(vars(_BUILDER)[name], 0)) for name in ("create_cat", "create_join")),
    (interpreter.GridExecutor, "_init_args_hst", _arguments(interpreter.GridExecutor._init_args_hst)),
)
