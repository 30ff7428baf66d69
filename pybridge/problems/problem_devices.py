"""Where a reference runs that names "cuda": on the device of the tensors that it gets. Its shapes are found
on the device "meta", whose tensors have no elements."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class _Generator(torch.Generator):
    """A generator of the processor's, whatever device it is asked for."""

    def __new__(cls, *_: Any, **__: Any):
        return super().__new__(cls, "cpu")


class On(TorchFunctionMode):
    """While it is entered, "cuda" means a device."""

    def __init__(self, device: str | torch.device):
        super().__init__()
        self.device = torch.device(device)

    def __enter__(self) -> On:
        self._generator, torch.Generator = torch.Generator, _Generator
        return super().__enter__()

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        torch.Generator = self._generator

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = {name: self._here(value) for name, value in (kwargs or {}).items()}
        if self.device.type != "cpu":  # the generators are the processor's
            kwargs.pop("generator", None)
        if function is torch.Tensor.cuda:
            return args[0].to(self.device)
        return function(*(self._here(value) for value in args), **kwargs)

    def _here(self, value: Any) -> Any:
        named = value if isinstance(value, torch.device) else None
        if type(value) is str and (value == "cuda" or value.startswith("cuda:")):
            named = torch.device(value)
        return self.device if named is not None and named.type == "cuda" else value
