"""What `accepts` sees of a call: its tensors without their elements."""

from __future__ import annotations

from collections.abc import Sequence

import torch

PAGE = 4096
"""data_ptr() tells the place within so many bytes, which is what a question of alignment needs."""


class Valueless(RuntimeError):
    """An element was asked for where there is none."""


class Described(torch.Tensor):
    """A tensor's shape, strides, dtype, device and alignment: it has no elements, and whatever would read one
    raises Valueless. data_ptr() is the address modulo PAGE."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, tensor: torch.Tensor):
        made = torch.Tensor._make_wrapper_subclass(cls, tensor.shape, strides=tensor.stride(),
                                                   dtype=tensor.dtype, device=tensor.device)
        made._past = tensor.data_ptr() % PAGE
        return made

    def data_ptr(self) -> int:
        return self._past

    def __repr__(self) -> str:
        strides = list(self.stride())
        return f"Described(shape={list(self.shape)}, strides={strides}, {self.dtype}, {self.device})"

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        raise _valueless(str(function))


def _valueless(what: str) -> Valueless:
    return Valueless(f"accepts asked for {what}: it sees shapes, strides, dtypes, devices and attributes, "
                     "and no values. What a function does with its "
                     "values is judged")


def _refuse(name: str):
    def refuse(self, *args, **kwargs):
        raise _valueless(name)
    return refuse


# These reach for the memory without an operation of torch's.
for _name in ("__array__", "__dlpack__", "cpu", "data", "item", "numpy", "storage", "tolist",
              "untyped_storage"):
    setattr(Described, _name, property(_refuse(_name)) if _name == "data" else _refuse(_name))


def described(tensors: Sequence[torch.Tensor]) -> list[Described]:
    """The tensors of a call as accepts gets them."""
    return [Described(tensor) for tensor in tensors]
