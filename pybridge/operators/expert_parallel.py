"""What the operators of expert parallelism share: which rank gets which token, in which row, and the copies
and sums of rows that follow. A rank is a place of a leading dim; tokens are counted through all ranks."""

from __future__ import annotations

from typing import Any

import torch

from implementation import INTERPRETED, ceildiv, next_power_of_2, short_rows, tl, triton

TOKENS = 2048 if INTERPRETED else 1024
"""Tokens that a program looks at, at a time."""
ELEMENTS = 65536 if INTERPRETED else 2048
"""Elements of a tile."""


@triton.jit
def _routes_kernel(choice_ptr, token_ptr, row_ptr, received_ptr, room, top, experts, TOKENS: tl.constexpr,
                   TOP: tl.constexpr):
    """A program a rank: the token of each row, which is -1 before, the row of each token, their number."""
    rank = tl.program_id(0).to(tl.int64)
    rows = tl.zeros((), tl.int32)
    for first in range(0, room, TOKENS):
        token, place = first + tl.arange(0, TOKENS), tl.arange(0, TOP)[None, :]
        inside = (token < room)[:, None] & (place < top)
        e = tl.load(choice_ptr + token[:, None].to(tl.int64) * top + place, mask=inside, other=-1)
        its = (e >= rank * experts) & (e < (rank + 1) * experts)
        sent = tl.max(its.to(tl.int32), 1)
        row = rows + tl.cumsum(sent, 0) - 1
        tl.store(row_ptr + rank * room + token, tl.where(sent > 0, row, -1), mask=token < room)
        tl.store(token_ptr + rank * room + row, token, mask=sent > 0)
        rows += tl.sum(sent, 0)
    tl.store(received_ptr + rank, rows)


@triton.jit
def _rows_kernel(x_ptr, token_ptr, rows_ptr, all, tokens, dim, x_rank, x_token, x_col, ROWS: tl.constexpr,
                 BLOCK: tl.constexpr):
    """A tile of rows: those of their tokens, 0 where there is none."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    token = tl.load(token_ptr + row, mask=row < all, other=-1).to(tl.int64)[:, None]
    at = token // tokens * x_rank + token % tokens * x_token + c.to(tl.int64) * x_col
    x = tl.load(x_ptr + at, mask=(token >= 0) & (c < dim), other=0.0)
    tl.store(rows_ptr + row[:, None] * dim + c, x, mask=(row < all)[:, None] & (c < dim))


@triton.jit
def _sums_kernel(rows_ptr, row_ptr, y_ptr, ranks, room, dim, r_rank, r_row, r_col, ROWS: tl.constexpr,
                 BLOCK: tl.constexpr):
    """A tile of tokens: the sums of their rows, rank after rank."""
    token = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for rank in range(ranks):
        row = tl.load(row_ptr + rank * room + token, mask=token < room, other=-1).to(tl.int64)[:, None]
        at = rank * r_rank + row * r_row + c.to(tl.int64) * r_col
        there = (row >= 0) & (c < dim)
        total = tl.where(there, total + tl.load(rows_ptr + at, mask=there, other=0.0).to(tl.float32), total)
    tl.store(y_ptr + token[:, None] * dim + c, total.to(y_ptr.dtype.element_ty),
             mask=(token < room)[:, None] & (c < dim))


def routes(choice: torch.Tensor, experts: int) -> tuple[torch.Tensor, ...]:
    """choice [ranks, tokens, top] -> token [ranks, ranks * tokens], row [ranks, ranks * tokens], received
    [ranks], int32: the token in each row of each rank, and the row of each token there, -1 for none; and how
    many rows each rank gets."""
    ranks, tokens, top = choice.shape
    room, choice = ranks * tokens, choice.contiguous()
    token = torch.full((ranks, room), -1, dtype=torch.int32, device=choice.device)
    row, received = torch.empty_like(token), token.new_zeros(ranks)
    if room:
        _routes_kernel[(ranks,)](choice, token, row, received, room, top, experts // ranks,
                                 TOKENS=min(TOKENS, next_power_of_2(room)), TOP=next_power_of_2(top))
    return token, row, received


def _tiles(rows: int, dim: int) -> tuple[tuple[int, int], dict[str, int]]:
    taken = short_rows(rows, dim, ELEMENTS)
    return (ceildiv(rows, taken["ROWS"]), ceildiv(dim, taken["BLOCK"])), taken


def copies(x: torch.Tensor, token: torch.Tensor) -> torch.Tensor:
    """x [ranks, tokens, dim], token [ranks, rows] -> their rows [ranks, rows, dim], 0 for -1."""
    rows = x.new_empty((*token.shape, x.shape[2]))
    if rows.numel():
        grid, taken = _tiles(token.numel(), x.shape[2])
        _rows_kernel[grid](x, token, rows, token.numel(), x.shape[1], x.shape[2], *x.stride(), **taken)
    return rows


def sums(rows: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
    """rows [ranks, ranks * tokens, dim], row [ranks, ranks * tokens] -> [ranks, tokens, dim]: for each token
    the sum of its rows, in fp32 in the order of the ranks."""
    ranks, room, dim = rows.shape
    y = rows.new_empty((ranks, room // ranks, dim))
    if y.numel():
        grid, taken = _tiles(room, dim)
        _sums_kernel[grid](rows, row, y, ranks, room, dim, *rows.stride(), **taken)
    return y


# ---- torch


def plain_routes(choice: torch.Tensor, experts: int) -> tuple[torch.Tensor, ...]:
    """routes in torch."""
    ranks = choice.shape[0]
    each, flat = experts // ranks, choice.flatten(0, 1)
    rank = torch.arange(ranks, device=choice.device)[:, None, None]
    sent = ((flat >= rank * each) & (flat < (rank + 1) * each)).any(2)
    row = torch.where(sent, sent.cumsum(1) - 1, -1)
    numbers = torch.arange(flat.shape[0], device=choice.device).expand_as(row)
    token = torch.full((ranks, flat.shape[0] + 1), -1, device=choice.device)
    token.scatter_(1, torch.where(sent, row, flat.shape[0]), torch.where(sent, numbers, -1))
    return token[:, :-1].int(), row.int(), sent.sum(1).int()


def plain_copies(x: torch.Tensor, token: torch.Tensor) -> torch.Tensor:
    """copies in torch; differentiable."""
    if not token.numel():
        return x.new_empty((*token.shape, x.shape[2])) + x.sum()
    return torch.where((token >= 0)[..., None], x.flatten(0, 1)[token.clamp(min=0)], 0)


def plain_sums(rows: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
    """sums in torch, in fp32, or fp64 where rows are; differentiable."""
    wide = rows if rows.dtype == torch.float64 else rows.float()
    total: Any = wide.new_zeros((row.shape[1], rows.shape[2]))
    for rank in range(rows.shape[0]):
        if row.shape[1]:
            part = wide[rank][row[rank].clamp(min=0)]
            total = torch.where((row[rank] >= 0)[:, None], total + part, total)
    return total.to(rows.dtype).unflatten(0, (rows.shape[0], -1))
