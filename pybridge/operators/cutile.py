"""What the operator files of cuTile share: the package, the launch, and the sizes of tiles.

`triton/<op>_cutile.py` writes

    from cutile import ct, launch

and is imported only where `cuda.tile` is installed (`triad setup --cutile`) and a GPU is there to launch on.
"""

from __future__ import annotations

from typing import Any

import cuda.tile as ct
import torch

import peers
from implementation import next_power_of_2

ROW_COLS = 32768
"""The widest row that a block holds."""

TILE = 8192
"""Elements of a tile of rows."""

WHOLE_ROWS = f"cols <= {ROW_COLS}"


def launch(kernel: Any, blocks: int, *args: Any) -> None:
    """Starts so many blocks of a kernel on the current stream of the first tensor's GPU.

    cuTile compiles at the first launch with new constants or strides. If its compiler crashes or refuses,
    BUILD_FAIL names the kernel and the constants of its tile. UNAVAILABLE names a feature that this GPU
    or this version of the compiler lacks.
    """
    stream = torch.cuda.current_stream(args[0].device)
    try:
        ct.launch(stream, (blocks,), kernel, args)
    except ct.TileError as e:
        lacks = isinstance(e, ct.TileUnsupportedFeatureError)
        raise peers.CutileFailed(
            "UNAVAILABLE" if lacks else "BUILD_FAIL",
            f"cuTile's compiler {'lacks something for' if lacks else 'gives up on'} "
            f"{kernel._pyfunc.__name__} with {kernel_constants(kernel, args)}: "
            f"{' '.join(str(e.message).split())[:600]}") from e


def kernel_constants(kernel: Any, args: tuple) -> str:
    """The arguments of a launch that are constants of the compiler, by convention those in capitals."""
    code = kernel._pyfunc.__code__
    names = code.co_varnames[:code.co_argcount]
    return ", ".join(f"{name} {value}" for name, value in zip(names, args) if name.isupper())


def tile(rows: int, cols: int, elements: int = TILE) -> tuple[int, int]:
    """How many rows of how many columns a block takes at once, about so many elements: powers of two."""
    width = next_power_of_2(cols)
    return max(1, min(elements // width, next_power_of_2(rows))), width


def by_tma(written: torch.Tensor) -> bool:
    """Whether stores to this array may go by the copy engine, as cuTile prefers: a kernel passes it to
    ct.store as allow_tma.

    Where rows are no multiple of 16 bytes, such a store changes what follows the array, up to the next
    multiple: tileiras 13.4.92 on an H200, results/published/lab/cutile.txt.
    """
    return written.shape[-1] * written.element_size() % 16 == 0


def accepts_row(direction: str, x: Any, *rest: Any, **attributes: Any) -> str | None:
    """The accepts of a row whose blocks hold whole rows of x [rows, cols]."""
    cols = x.shape[1]
    return f"cols {cols} is more than {ROW_COLS}" if cols > ROW_COLS else None
