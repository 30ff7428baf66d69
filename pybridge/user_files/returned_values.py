"""What a function of a user's file returned, as the outputs of an operator: in their order, with their
shapes and integers (internal/ownfile/shim/python_returns.go). What is changed is printed, once each."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import sys
from collections.abc import Iterator
from typing import Any, Mapping

import torch

from tensors import without_own_methods

Wanted = tuple[str, tuple[int, ...], tuple[int, ...], bool, torch.dtype]
"""An output: its name, the shape that the function sees, the operator's, whether its second and third size
have changed places, its dtype."""

MOST_VALUES = 6
"""Of more returned values no other order is tried."""

class ReturnedOtherwise(Exception):
    """What a function returned cannot be told to be what is judged. internal/ownkernels makes that
    UNSUPPORTED."""


_said: set[str] = set()

_orders: dict[tuple[str, int], tuple[int, ...]] = {}
"""By function and number of values, which of its values are the outputs, where its names or their shapes and
dtypes said so: at sizes of 1 these need not."""

_own: dict[str, torch.Tensor] | None = None
"""Of a call that is judged, by output, the tensor that the function itself returned; None of one that is
timed, in which nothing is looked at: a host that waits cannot be captured in a CUDA graph."""

_copies: list[tuple[torch.Tensor, torch.Tensor]] = []
"""Of a call that is judged, what was copied to be without gaps: the copy, and the tensor itself."""


@contextlib.contextmanager
def judged() -> Iterator[dict[str, torch.Tensor]]:
    """Within, a call is judged. Gives, by output, the tensors that the function itself returned, whose memory
    may be that of an earlier call: what is made of them has its own."""
    global _own
    _own = {}
    try:
        yield _own
    finally:
        _own = None
        _copies.clear()


DROPPED = "returned a tensor, which is not read: the outputs are parameters"  # as in internal/advice


def given(value: Any, name: str, dropped: Any = None) -> Any:
    """What a function returned, which must be something. Fields of a dataclass and the values of a mapping
    are a tuple, in their order. A function whose outputs, value, are parameters may return something else,
    dropped, as well."""
    if isinstance(dropped, torch.Tensor) and _own is not None and not any(
            dropped is v for v in (value if isinstance(value, tuple) else (value,))):
        _say(f"{name} {DROPPED}")
    if value is None:
        raise TypeError(f"{name} returned nothing: return the result, or take a parameter that it is "
                        "written into")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = tuple(getattr(value, field.name) for field in dataclasses.fields(value))
    elif isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        return tuple(_laid_out(v) for v in value)
    return _laid_out(value)


def _laid_out(value: Any) -> Any:
    """A tensor without gaps. One of no dimensions, such as a sum, is the one element that an operator has."""
    if type(value) is not torch.Tensor:
        return value
    value = without_own_methods(value)
    dense = value.contiguous() if value.dim() else value.reshape(1)
    if _own is not None and dense is not value:
        _copies.append((dense, value))
    return dense


def fitted(value: Any, function: str, wanted: tuple[Wanted, ...], places: tuple[int, ...],
           device: torch.device, is_forward: bool, keeps_dtypes: bool = False,
           perhaps: tuple[Wanted, ...] = (), unspoken: str = "") -> Any:
    """What a function returned, each value with the shape of its output: those at the places that its names
    say, else the first ones. Values that are the outputs in another order alone are put in theirs. What fits
    no output stays as it is. keeps_dtypes: fp32 is not rounded to the 16 bits of an output; the user
    said the dtype, or these are gradients. perhaps: outputs that need not be given; behind the others stands
    the one further value that fits, or None. unspoken: a value of an attribute that decides shapes, and that
    no line of it names."""
    values = list(value) if isinstance(value, tuple) else [value]
    if is_forward and len(values) < len(wanted):  # it is another function than the operator
        raise ReturnedOtherwise(f"{function} returns {len(values)} of the {len(wanted)} outputs that are "
                                f"judged: {_names(wanted)}: return all of them, or take parameters that they "
                                "are written into")
    named = is_forward and len(places) == len(wanted) and max(places, default=0) < len(values)
    if named and all(_fits(values[i], w) for i, w in zip(places, wanted)):
        order = _kept(places, (function, len(values)), wanted)
    else:
        order = _order(values, function, wanted, is_forward) or (places if named else None)
    taken = order or tuple(range(len(wanted)))
    further = _further([v for i, v in enumerate(values) if i not in taken], perhaps)
    if len(values) > len(wanted) + sum(v is not None for v in further):
        _say(f"what {function} returns besides {_names(wanted)} is not judged")
    if order or perhaps:
        values = [values[i] for i in taken if i < len(values)] + further
        wanted += perhaps
    if is_forward and len(wanted) - len(perhaps) == 1:
        _not_chosen(values[0], function, wanted[0])
    if _own is not None:
        _own.update({w[0]: next((own for copy, own in _copies if copy is v), v)
                     for v, w in zip(values, wanted) if type(v) is torch.Tensor})
    values = [v if v is None else _fit(v, w, device, keeps_dtypes) for v, w in zip(values, wanted)]
    for v, w in zip(values, wanted) if unspoken else ():
        if type(v) is torch.Tensor and tuple(v.shape) != w[2]:
            raise ReturnedOtherwise(f"with {unspoken} {function} returns {w[0]} of another shape, and no "
                                    "line of it names that value: it is judged with the others")
    return values[0] if len(values) == 1 else tuple(values)


def _further(values: list, perhaps: tuple[Wanted, ...]) -> list:
    """Of further values, for each output that need not be given the one that fits it and no other; else
    None. They are integer tensors, as these outputs are: floating-point values could mean anything."""
    found = []
    for w in perhaps:
        fitting = [v for v in values if type(v) is torch.Tensor and _fits(v, w)
                   and (v.dtype is torch.bool) is (w[4] is torch.bool)]
        found.append(fitting[0] if len(fitting) == 1 else None)
    return found


def _not_chosen(value: Any, function: str, wanted: Wanted) -> None:
    """Refuses integers in the place of others: they say which elements were chosen, as the indices of
    the largest do, and the function is another one than the operator."""
    name, dtype = wanted[0], wanted[4]
    if type(value) is torch.Tensor and dtype.is_floating_point and value.dtype in _INTEGERS:
        whole = str(value.dtype).removeprefix("torch.")
        raise ReturnedOtherwise(f"{function} returns integers ({whole}), and {name}, which is judged, "
                                f"has none: return {name}")


def _names(wanted: tuple[Wanted, ...]) -> str:
    return ", ".join(w[0] for w in wanted)


def _order(values: list, function: str, wanted: tuple[Wanted, ...],
           is_forward: bool) -> tuple[int, ...] | None:
    """Which values are the outputs, None for the first ones."""
    n = len(wanted)
    if not is_forward or len(values) > MOST_VALUES:
        return None
    first, known = tuple(range(n)), (function, len(values))
    if len(values) == n and all(map(_is_kind, values, wanted)):
        return _kept(first, known, wanted) if all(map(_fits, values, wanted)) else None
    fitting = [p for p in itertools.permutations(range(len(values)), n)
               if all(_fits(values[i], w) for i, w in zip(p, wanted))]
    if not fitting:
        return None
    if len(fitting) > 1 and _orders.get(known) not in fitting:
        raise ReturnedOtherwise(f"{function} returns {len(values)} values, and at these sizes several of "
                                f"them may be what is judged: return {_names(wanted)} alone, or as variables "
                                "of these names")
    return _kept(fitting[0] if len(fitting) == 1 else _orders[known], known, wanted)


def _kept(order: tuple[int, ...], known: tuple[str, int], wanted: tuple[Wanted, ...]) -> tuple[int, ...]:
    """The order of the first call, which those behind it have to keep: nobody could use what changes its
    places. All outputs of a right call fit, so that one that alone fits is theirs."""
    function, kept = known[0], _orders.setdefault(known, order)
    if kept != order:
        _say(f"{function} returns {_names(wanted)} in another order than in an earlier call: they are judged "
             "at their places in that")
    order = kept
    if order != tuple(range(len(wanted))):
        _say(f"{function} returns its outputs as its values "
             + ", ".join(f"{i + 1}: {w[0]}" for i, w in zip(order, wanted)))
    return order


def _is_kind(value: Any, wanted: Wanted) -> bool:
    """Says whether a value has the kind of numbers of an output."""
    if type(value) is not torch.Tensor:
        return isinstance(value, (int, float)) and wanted[2] == (1,)
    return value.dtype.is_floating_point == wanted[4].is_floating_point


def _fits(value: Any, wanted: Wanted) -> bool:
    """Says whether a value may be an output: by its shape, but for sizes of 1, and by its kind of numbers."""
    _, seen, whole, _, dtype = wanted
    if not _is_kind(value, wanted):
        return False
    if type(value) is not torch.Tensor:
        return dtype.is_floating_point or isinstance(value, int)
    return _plain(value.shape) in (_plain(seen), _plain(whole))


def _plain(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


def _fit(value: Any, wanted: Wanted, device: torch.device, keeps_dtypes: bool) -> Any:
    """A value as the output has it: with the sizes of 1 that the function was not shown or has besides, with
    the second and third size where the operator has them, and in the operator's integers or 16 bits."""
    name, seen, whole, is_exchanged, dtype = wanted
    if isinstance(value, (int, float)) and not isinstance(value, bool) and _fits(value, wanted):
        _say(f"{name} is a number, made a tensor of one element")
        return torch.tensor([value], dtype=dtype, device=device)
    if type(value) is not torch.Tensor:
        return value
    if tuple(value.shape) == seen:
        value = exchanged(value, whole) if is_exchanged else value.reshape(whole)
    elif tuple(value.shape) != whole and not is_exchanged and _fits(value, wanted):
        _say(f"{name} has sizes of 1 that the operator has not, or lacks some")
        value = value.reshape(whole)
    if value.dtype == torch.float32 and dtype in (torch.float16, torch.bfloat16) and not keeps_dtypes:
        _say(f"{name} is float32, rounded to {str(dtype).removeprefix('torch.')}, and that is timed with it")
        return value.to(dtype)
    return _narrowed(value, name, dtype)


def _narrowed(value: torch.Tensor, name: str, dtype: torch.dtype) -> torch.Tensor:
    """Integers in those of the operator, such as the indices of torch, which have 64 bits. What does not
    fit stays as it is, in a call that is judged."""
    if value.dtype == dtype or dtype not in _INTEGERS or value.dtype not in _INTEGERS:
        return value
    narrow = value.to(dtype)
    if _own is not None and not torch.equal(narrow.to(torch.int64), value.to(torch.int64)):
        return value
    _say(f"{name} is {str(value.dtype).removeprefix('torch.')}, converted to "
         f"{str(dtype).removeprefix('torch.')}, and the conversion is timed with it")
    return narrow


_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def _say(sentence: str) -> None:
    if sentence not in _said:
        _said.add(sentence)
        print(f"triad: {sentence}", file=sys.stderr)


def exchanged(value: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """A tensor of the shape, from one in which its second and third size have changed places."""
    first, second, third, *rest = shape
    return value.reshape((first, third, second, *rest)).transpose(1, 2).contiguous()


def joined(value: Any, empty: dict[int, torch.Tensor]) -> Any:
    """What a function returned and, at their positions, the outputs that have no element."""
    if not empty:
        return value
    values = list(value) if isinstance(value, tuple) else [value]
    for position, tensor in empty.items():
        values.insert(position, tensor)
    return tuple(values)


def scaled(value: Any, factor: float, weight: torch.Tensor | None, bias: torch.Tensor | None) -> Any:
    """What a function returned, the first tensor of it multiplied and added to, as the operator is."""
    if isinstance(value, tuple) and not value:
        return value
    first, *rest = value if isinstance(value, tuple) else (value,)
    if type(first) is torch.Tensor:
        first = first * factor
        first = first if weight is None else first * weight
        first = first if bias is None else first + bias
    return (first, *rest) if isinstance(value, tuple) else first
