"""Stands for cuda.tile in tests: what the rows in cuTile use of it, computed by torch on a CPU, block by
block. It checks the logic of kernels, not the compiler: padding, masks, the order of axes, NaN. A tile's part
outside an array is NaN where no padding is named, a tile that lies outside as a whole is an error, and max
leaves NaN out unless it is asked not to, as NVIDIA documents."""

from __future__ import annotations

import contextlib
import math
import sys
import types
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch

PADDING = types.SimpleNamespace(UNDETERMINED=math.nan, ZERO=0.0, NEG_INF=-math.inf)


class TileError(Exception):
    pass


class Kernel:
    """What @ct.kernel makes of a function."""

    def __init__(self, function: Any):
        self._pyfunc = function

    def replace_hints(self, **hints: Any) -> Kernel:
        return self


class Constant:
    def __class_getitem__(cls, kind: type) -> type:
        return cls


_block = 0


def launch(stream: Any, grid: tuple[int], kernel: Kernel, args: tuple) -> None:
    """Runs the blocks one after the other."""
    global _block
    for _block in range(grid[0]):
        kernel._pyfunc(*args)


def bid(axis: int) -> int:
    assert axis == 0
    return _block


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


def num_tiles(array: torch.Tensor, axis: int, shape: tuple) -> int:
    return cdiv(array.shape[axis], shape[axis])


def _places(array: torch.Tensor, index: tuple, shape: tuple) -> tuple[tuple, tuple]:
    """Where a tile lies in an array, and which part of the tile that is."""
    assert len(index) == len(shape) == array.ndim, (index, shape, array.shape)
    assert all(n & (n - 1) == 0 for n in shape), f"{shape}: sides of tiles are powers of two"
    starts = [i * n for i, n in zip(index, shape)]
    counts = [min(n, whole - start) for n, whole, start in zip(shape, array.shape, starts)]
    assert min(counts) > 0, f"the tile {index} of {shape} lies outside {tuple(array.shape)}"
    return (tuple(slice(s, s + n) for s, n in zip(starts, counts)), tuple(slice(n) for n in counts))


def load(array: torch.Tensor, index: tuple, shape: tuple, order: tuple | None = None,
         padding_mode: float = PADDING.UNDETERMINED) -> torch.Tensor:
    array = array.permute(order) if order else array
    there, part = _places(array, index, shape)
    tile = torch.full(shape, padding_mode, dtype=array.dtype)
    tile[part] = array[there]
    return tile


def store(array: torch.Tensor, index: tuple, tile: torch.Tensor, allow_tma: bool = True) -> None:
    assert tile.dtype == array.dtype, (tile.dtype, array.dtype)
    assert not allow_tma or array.shape[-1] * array.element_size() % 16 == 0, (
        f"on an H200 a store to {tuple(array.shape)} by the copy engine changes what follows the array")
    there, part = _places(array, index, tuple(tile.shape))
    array[there] = tile[part]


def largest(x: torch.Tensor, axis: int, *, keepdims: bool = False,
            propagate_nan: bool = False) -> torch.Tensor:
    return (x if propagate_nan else x.nan_to_num(-math.inf, math.inf, -math.inf)).amax(axis, keepdims)


def maximum(x: torch.Tensor, y: torch.Tensor, *, propagate_nan: bool = False) -> torch.Tensor:
    return (torch.maximum if propagate_nan else torch.fmax)(x, y)


def mma(x: torch.Tensor, y: torch.Tensor, acc: torch.Tensor) -> torch.Tensor:
    assert x.dtype == y.dtype and acc.dtype == torch.float32
    return torch.addmm(acc, x.float(), y.float())


def module() -> types.ModuleType:
    """The module that stands for cuda.tile."""
    found = types.ModuleType("cuda.tile")
    for name, value in {
        "TileError": TileError, "kernel": Kernel, "Constant": Constant, "PaddingMode": PADDING,
        "launch": launch, "bid": bid, "cdiv": cdiv, "num_tiles": num_tiles, "load": load, "store": store,
        "max": largest, "maximum": maximum, "mma": mma, "float32": torch.float32, "int32": torch.int32,
        "exp": torch.exp, "exp2": torch.exp2, "log2": torch.log2, "rsqrt": torch.rsqrt, "where": torch.where,
        "zeros": lambda shape, dtype: torch.zeros(shape, dtype=dtype),
        "full": lambda shape, value, dtype: torch.full(shape, value, dtype=dtype),
        "arange": lambda n, dtype: torch.arange(n, dtype=dtype),
        "sum": lambda x, axis, keepdims=False: x.sum(axis, keepdim=keepdims),
        "astype": lambda x, dtype: torch.tensor(x, dtype=dtype),
    }.items():
        setattr(found, name, value)
    return found


@contextlib.contextmanager
def standing() -> Iterator[None]:
    """Has cuda.tile be this module while the context lasts, and torch name a stream on a CPU."""
    package = types.ModuleType("cuda")
    package.tile = module()
    with mock.patch.dict(sys.modules, {"cuda": package, "cuda.tile": package.tile}), \
            mock.patch.object(torch.Tensor, "astype", torch.Tensor.to, create=True), \
            mock.patch("torch.cuda.current_stream"):
        sys.modules.pop("cutile", None)  # which has imported the real one
        yield
