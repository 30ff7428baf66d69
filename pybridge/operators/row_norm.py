"""What the operator files of row normalisations share: tiles of whole rows, and gradients of parameters that
are summed over the rows in two stages, always in the same order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from implementation import INTERPRETED, ceildiv, next_power_of_2, tl, triton

ROW_COLS = 131072
"""The widest row that a program holds."""

CONSTRAINT = f"cols <= {ROW_COLS}"

TILE = 65536 if INTERPRETED else 4096
"""Elements of a tile."""

WIDE = 2048
"""Columns beyond which a tile of a backward has four times as many elements."""

PARTIALS = 4 if INTERPRETED else 128
"""Programs of a backward, each with a partial sum of its own: one a multiprocessor, four of small tiles."""

PARTIAL_COLS = 1024 if INTERPRETED else 32
"""Columns that a program of the second stage sums."""


def accepts(direction: str, x: Any, *rest: Any, **attributes: Any) -> str | None:
    """accepts of a row whose programs hold whole rows of x [rows, cols]."""
    cols = x.shape[1]
    return f"cols {cols} is more than {ROW_COLS}" if cols > ROW_COLS else None


def tile(rows: int, cols: int, elements: int = TILE) -> dict[str, int]:
    """How many rows of how many columns a program takes at once, about so many elements, and with how many
    warps: constants of a launch."""
    width = next_power_of_2(cols)
    count = max(1, min(elements // width, next_power_of_2(rows)))
    return {"ROWS": count, "COLS": width, "num_warps": max(4, min(32, count * width // 1024))}


@triton.jit
def _sum_partials_kernel(partial_ptr, first_ptr, second_ptr, programs, cols, COUNT: tl.constexpr,
                         COLS: tl.constexpr, PROGRAMS: tl.constexpr):
    """Sums the partial sums [COUNT, programs, cols] of COLS columns."""
    col = (tl.program_id(0) * COLS + tl.arange(0, COLS)).to(tl.int64)
    p = tl.arange(0, PROGRAMS).to(tl.int64)[:, None]
    inside = (p < programs) & (col[None, :] < cols)
    at = partial_ptr + p * cols + col[None, :]
    first = tl.sum(tl.load(at, mask=inside, other=0.0), axis=0)
    tl.store(first_ptr + col, first.to(first_ptr.dtype.element_ty), mask=col < cols)
    if COUNT == 2:
        second = tl.sum(tl.load(at + programs * cols, mask=inside, other=0.0), axis=0)
        tl.store(second_ptr + col, second.to(second_ptr.dtype.element_ty), mask=col < cols)


def parameter_gradients(x: torch.Tensor, parameter: torch.Tensor, count: int,
                        launch: Callable[[int, torch.Tensor, dict[str, int]], None]) -> list[torch.Tensor]:
    """The gradients of one or two parameters, each as parameter [cols], of rows of x [rows, cols].
    launch(programs, partials, tile) starts so many programs; program p writes its sums over rows to
    partials[:, p], partials being fp32 [count, programs, cols]. It is not called where there are no rows."""
    rows, cols = x.shape
    make = torch.empty if rows else torch.zeros
    gradients = [make(cols, dtype=parameter.dtype, device=x.device) for _ in range(count)]
    if rows:
        small = cols <= WIDE and not INTERPRETED
        shape = tile(rows, cols, TILE if small or INTERPRETED else 4 * TILE)
        programs = min(4 * PARTIALS if small else PARTIALS, ceildiv(rows, shape["ROWS"]))
        partials = torch.empty((count, programs, cols), dtype=torch.float32, device=x.device)
        launch(programs, partials, shape)
        block = min(PARTIAL_COLS, shape["COLS"])
        _sum_partials_kernel[(ceildiv(cols, block),)](partials, gradients[0], gradients[-1], programs, cols,
                                                      COUNT=count, COLS=block,
                                                      PROGRAMS=next_power_of_2(programs))
    return gradients
