"""moe_dispatch: rows[q,i] = x[r,t] for the i-th token that chose an expert of rank q, by r and then t, with
its choice and weights there
backward: grad_x[r,t] = 0 + the sum of grad_rows over its rows, by rank, in fp32; grad_weight of the row on
its expert's rank

Layout   x, grad_x: [ranks, tokens, dim], fp32, fp16, bf16; choice: [ranks, tokens, top] int64; weight,
         grad_weight fp32, alike; rows: [ranks, ranks * tokens, dim], 0 past those that a rank gets;
         row_choice int64 (the expert's number on its rank, else -1), row_weight fp32 (else 0): [ranks,
         ranks * tokens, top]; source: [ranks, ranks * tokens] int32, r * tokens + t, or -1; received: [ranks]
         int32; of_expert: [ranks, experts / ranks] int32, rounded up to align. Inputs with any strides.
Limits   tokens = 0 only writes the counts.
Source   DeepSeek-AI 2025, DeepEP, deep_ep/utils/refs.py
  triton/tile  a program a rank goes through the tokens; then a tile of rows a program, atomics count choices
  torch/eager  the formula in torch
  torch/compile the same through Inductor
  torch/all_to_all half of the ranks a GPU: rows go by torch.distributed (NCCL; gloo on a CPU)
"""

import torch

from all_to_all import REMARK, Halves, Routes
from expert_parallel import copies, plain_copies, plain_routes, plain_sums, routes, sums
from implementation import (
    INTERPRETED,
    Implementation,
    beside_peers,
    ceildiv,
    compile_for,
    next_power_of_2,
    tl,
    triton,
)

DIFFERENTIABLE = (0, 2)  # of the inputs of reference
PLACES = 65536 if INTERPRETED else 1024  # of a program


@triton.jit
def _places_kernel(choice_ptr, weight_ptr, source_ptr, row_choice_ptr, row_weight_ptr, n, room, tokens, top,
                   experts, w_rank, w_token, w_place, PLACES: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * PLACES + tl.arange(0, PLACES)
    row, place = i // top, i % top
    token = tl.load(source_ptr + row, mask=i < n, other=-1).to(tl.int64)
    e = tl.load(choice_ptr + token * top + place, mask=token >= 0, other=-1) - row // room * experts
    its = (token >= 0) & (e >= 0) & (e < experts)
    at = token // tokens * w_rank + token % tokens * w_token + place * w_place
    tl.store(row_choice_ptr + i, tl.where(its, e, -1), mask=i < n)
    tl.store(row_weight_ptr + i, tl.load(weight_ptr + at, mask=its, other=0.0), mask=i < n)


@triton.jit
def _counts_kernel(choice_ptr, count_ptr, n, experts, PLACES: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * PLACES + tl.arange(0, PLACES)
    e = tl.load(choice_ptr + i, mask=i < n, other=-1)
    tl.atomic_add(count_ptr + e, 1, mask=(e >= 0) & (e < experts))


@triton.jit
def _grad_weight_kernel(choice_ptr, dw_ptr, row_ptr, grad_ptr, n, room, top, experts, g_rank, g_row, g_place,
                        ranks, PLACES: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * PLACES + tl.arange(0, PLACES)
    e = tl.load(choice_ptr + i, mask=i < n, other=-1)
    its = (e >= 0) & (e < ranks * experts)
    rank = tl.where(its, e // experts, 0)
    row = tl.load(row_ptr + rank * room + i // top, mask=its, other=0).to(tl.int64)
    dw = tl.load(dw_ptr + rank * g_rank + row * g_row + i % top * g_place, mask=its, other=0.0)
    tl.store(grad_ptr + i, dw, mask=i < n)


def _launch(kernel, n, *arguments):
    """Runs a kernel of n places, unless there is none."""
    if n:
        block = min(PLACES, next_power_of_2(n))
        kernel[(ceildiv(n, block),)](*arguments, PLACES=block)


def _aligned(counts, align):
    return ((counts + align - 1) // align * align).int()


def forward(x, choice, weight, *, experts, align):
    """x [ranks, tokens, dim], choice, weight [ranks, tokens, top] -> rows [ranks, ranks * tokens, dim],
    row_weight, row_choice [ranks, ranks * tokens, top], source [ranks, ranks * tokens], received [ranks],
    of_expert [ranks, experts / ranks]."""
    choice = choice.contiguous()
    ranks, tokens, top = choice.shape
    source, _, received = routes(choice, experts)
    row_choice = choice.new_empty((*source.shape, top))
    row_weight = weight.new_empty(row_choice.shape)
    counts = torch.zeros((ranks, experts // ranks), dtype=torch.int32, device=x.device)
    n, room = row_choice.numel(), ranks * tokens
    _launch(_places_kernel, n, choice, weight, source, row_choice, row_weight, n, room, tokens, top,
            experts // ranks, *weight.stride())
    _launch(_counts_kernel, choice.numel(), choice, counts, choice.numel(), experts)
    return copies(x, source), row_weight, row_choice, source, received, _aligned(counts, align)


def backward(grad_rows, grad_row_weight, choice, *, experts, align):
    """grad_rows [ranks, ranks * tokens, dim], grad_row_weight [ranks, ranks * tokens, top], choice [ranks,
    tokens, top] -> grad_x [ranks, tokens, dim], grad_weight [ranks, tokens, top]."""
    choice = choice.contiguous()
    ranks, tokens, top = choice.shape
    row, n = routes(choice, experts)[1], choice.numel()
    grad_weight = grad_row_weight.new_empty(choice.shape)
    _launch(_grad_weight_kernel, n, choice, grad_row_weight, row, grad_weight, n, ranks * tokens, top,
            experts // ranks, *grad_row_weight.stride(), ranks)
    return sums(grad_rows, row), grad_weight


def reference(x, choice, weight, *, experts, align):
    """The formula in torch; differentiable."""
    ranks, each, choice = choice.shape[0], experts // choice.shape[0], choice.long()
    source, _, received = plain_routes(choice, experts)
    first = torch.arange(ranks, device=x.device)[:, None, None] * each
    e = plain_copies(choice + 1, source) - 1 - first  # past the rows: -1
    its = (e >= 0) & (e < each)
    weights = torch.where(its, plain_copies(weight, source), 0)
    counts = torch.bincount(choice[(choice >= 0) & (choice < experts)], minlength=experts)
    return (plain_copies(x, source), weights, torch.where(its, e, -1), source, received,
            _aligned(counts, align).unflatten(0, (ranks, each)))


def reference_backward(grad_rows, grad_row_weight, choice, *, experts, align):
    """The backward formula in torch."""
    row, top, choice = plain_routes(choice, experts)[1], choice.shape[2], choice.long()
    its = (choice >= 0) & (choice < experts)
    rank = torch.where(its, choice // (experts // choice.shape[0]), 0).flatten(0, 1)
    if not choice.numel():
        return plain_sums(grad_rows, row), grad_row_weight.new_empty(choice.shape)
    numbers = torch.arange(len(rank), device=row.device)[:, None]
    its_row = row[rank, numbers].clamp(min=0)
    grad_weight = grad_row_weight[rank, its_row, torch.arange(top, device=row.device)].view(choice.shape)
    return plain_sums(grad_rows, row), torch.where(its, grad_weight, 0)


def of_member(member, x, choice, weight, *, ranks, experts, align):
    """What a member does of the ranks that it has: x goes by itself, what belongs to a row with it, as int32.
    """
    routes, (here, tokens, top) = Routes(member, choice, ranks, experts), choice.shape
    e = routes.choice[routes.token] - (routes.rank * routes.each)[:, None]
    its = (e >= 0) & (e < routes.each)
    w = torch.where(its, weight.flatten(0, 1)[routes.token], 0)
    number = (routes.token + routes.first * tokens)[:, None]
    with_it = torch.cat([w.view(torch.int32), torch.where(its, e, -1).int(), number.int()], 1)
    rows = routes.copies(x)
    w, e, source = routes.send(with_it, -1).view(here, routes.room, 2 * top + 1).split([top, top, 1], 2)
    w = torch.where(e >= 0, w.contiguous().view(torch.float32), 0)
    numbers = torch.arange(here, device=x.device)[:, None, None] * routes.each + e
    counts = torch.zeros(here * routes.each + 1, dtype=torch.int32, device=x.device)
    where = torch.where(e >= 0, numbers, here * routes.each).flatten()
    counts.scatter_add_(0, where, torch.ones_like(where, dtype=torch.int32))
    of_expert = _aligned(counts[:-1].view(here, routes.each), align)
    return rows, w, e.long(), source.squeeze(2).contiguous(), routes.received.int(), of_expert


def backward_of_member(member, grad_rows, grad_row_weight, choice, *, ranks, experts, align):
    """Its part of the backward."""
    routes, top = Routes(member, choice, ranks, experts), choice.shape[2]
    grad_x, dw = routes.sums(grad_rows), routes.send_back(grad_row_weight)
    if not len(dw):
        return grad_x, dw.new_zeros(choice.shape)
    rank = routes.rank_of.clamp(max=ranks - 1)
    copy = routes.copy.t().gather(1, rank).clamp(min=0)
    grad_weight = torch.where(routes.chosen, dw[copy, torch.arange(top, device=dw.device)], 0)
    return grad_x, grad_weight.view(choice.shape)


_NAMES = {"outputs": ("rows", "row_weight", "row_choice", "source", "received", "of_expert"),
          "gradients": ("grad_x", "grad_weight"), "contract": "exact"}

IMPLEMENTATIONS = [
    Implementation("triton/tile", forward, backward, **_NAMES),
    Implementation("torch/eager", reference, reference_backward, **_NAMES),
    *beside_peers(Implementation("torch/compile", compile_for(reference), compile_for(reference_backward),
                                 compiled=True, **_NAMES)),
    Implementation("torch/all_to_all", Halves(of_member), Halves(backward_of_member), devices=2,
                   remark=REMARK, **_NAMES),
]
