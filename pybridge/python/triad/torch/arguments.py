"""The arguments of a call: by position or keyword, of any rank, under autocast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from triad.errors import UsageError
from triad.torch.signature import check, default, depends


def named(op: str, inputs: Sequence[Mapping[str, Any]], attributes: Sequence[Mapping[str, Any]],
          tensors: tuple, keywords: dict[str, Any]) -> tuple[tuple[torch.Tensor, ...], dict[str, Any]]:
    """The tensors in the order of the spec and every attribute by name; None is an attribute whose default
    depends on sizes. UsageError for what is missing, unknown or given twice."""
    names, known = [t["name"] for t in inputs], {a["name"] for a in attributes}
    if len(tensors) > len(names):
        raise UsageError(f"{op}: {len(tensors)} tensors: want {', '.join(names)}")
    given = dict(zip(names, tensors))
    for name, value in keywords.items():
        if name not in known and (name not in names or name in given):
            raise UsageError(f"{op}: unknown or repeated argument {name!r}: want "
                             f"{', '.join([*names, *sorted(known), 'impl'])}")
        if name in names:
            given[name] = value
    if len(given) < len(names):
        raise UsageError(f"{op}: {len(given)} tensors: want {', '.join(names)}")
    for name in names:
        if not isinstance(given[name], torch.Tensor):
            raise UsageError(f"{op}: {name} is a {type(given[name]).__name__}: want a torch.Tensor")
        if given[name].layout != torch.strided:
            raise UsageError(f"{op}: {name} is {given[name].layout}: want a dense tensor")
    values: dict[str, Any] = {}
    for a in attributes:
        value = keywords.get(a["name"])
        if value is not None:
            values[a["name"]] = check(op, a, value)
        else:
            values[a["name"]] = None if depends(a) else default(a, {})
    return tuple(given[n] for n in names), values


def cast(rule: str, inputs: Sequence[Mapping[str, Any]], tensors: tuple[torch.Tensor, ...],
         device: str) -> tuple[torch.Tensor, ...]:
    """Under torch.autocast the tensors of the case's dtype become what torch's own operator of the kind
    takes. rule is of the spec's [torch]: "widest", "fp32" or "lower"."""
    ours = [t["dtype"] == "" and x.dtype in (torch.float32, torch.float16, torch.bfloat16)
            for t, x in zip(inputs, tensors)]
    dtype = torch.float32 if rule == "fp32" else torch.get_autocast_dtype(device)
    if rule == "widest":
        several = len({x.dtype for x, o in zip(tensors, ours) if o}) > 1
        dtype = torch.float32 if several else tensors[0].dtype
    return tuple(x.to(dtype) if o else x for x, o in zip(tensors, ours))


def flatten(op: str, inputs: Sequence[Mapping[str, Any]],
            tensors: tuple[torch.Tensor, ...]) -> tuple[tuple[torch.Tensor, ...], tuple[int, ...] | None]:
    """An operator over rows takes tensors of any rank: the dims before the last are rows. The second result
    is those dims, None where nothing was flattened."""
    rows = of_rows(inputs)
    if not rows[0] or tensors[0].dim() == 2 or tensors[0].dim() == 0:
        return tensors, None
    leading = tuple(tensors[0].shape[:-1])
    for t, x, is_rows in zip(inputs, tensors, rows):
        if is_rows and tuple(x.shape[:-1]) != leading:
            raise UsageError(f"{op}: {t['name']} has shape {list(x.shape)}: want {list(leading)} "
                             f"before the last dim, as {inputs[0]['name']} has")
    flat = tuple(x.reshape(product(leading), x.shape[-1]) if r else x for x, r in zip(tensors, rows))
    return flat, leading


def unwrapped(tensors: tuple) -> tuple:
    """Tensors that outlived the transform of torch.func that wrapped them, as what they wrap: torch's own
    operators take them so."""
    alive = tuple(torch._C._functorch.unwrap_if_dead(t) if isinstance(t, torch.Tensor) else t
                  for t in tensors)
    return tensors if all(a is t for a, t in zip(alive, tensors)) else alive


def place(tensor: torch.Tensor) -> torch.device:
    """The device that a tensor is on, whatever a mode of torch has it say: the judge has one for files of the
    user's own that ask for a GPU where none is."""
    if torch.compiler.is_compiling():
        return tensor.device
    with torch._C.DisableTorchFunction():
        return tensor.device


def product(sizes: Sequence[int]) -> int:
    """The number of elements. Not math.prod: sizes may be symbolic."""
    total = 1
    for size in sizes:
        total *= size
    return total


def of_rows(declared: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Which tensors of a spec are rows of something."""
    return [not isinstance(t["shape"], dict) and len(t["shape"]) > 1 and t["shape"][0] == "rows"
            for t in declared]
