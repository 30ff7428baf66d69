"""moe: y[t] = sum_i w[t,i] (silu(x gate[e]) * (x up[e])) down[e], e = choice[t,i]: the top experts by
p = softmax(x router^T), falling; w = p, divided by its sum over i if normalise
backward, with h = silu(g) u, q = dy down^T, dh = w q: du = dh silu(g), dg = dh u silu'(g), d = h.q;
dz = w (d - sum_i w d), for every expert if the weights are not normalised;
dx = dg gate^T + du up^T + dz router; of an expert's tokens dgate = x^T dg, dup = x^T du, ddown = h^T (w dy);
drouter = dz^T x

Layout   x, dy [tokens, dim], router [experts, dim], gate, up [experts, dim, hidden],
         down [experts, hidden, dim], with any strides; y, choice [tokens, top] int32, weight [tokens, top]
         fp32, contiguous. fp32 (products in IEEE fp32), fp16, bf16; added in fp32. The router is fp32
         throughout; g, u, h, dg, du and w dy are stored in the dtype.
Limits   one expert may have every token, and others none.
Source   Shazeer et al. 2017, arXiv:1701.06538; SwiGLU: Shazeer 2020, arXiv:2002.05202
  triton/grouped  pairs of token and expert sorted by expert; a fixed number of programs walk over the tiles
                  of all experts; the products with gate and up are one kernel
  torch/eager     an expert after the other

torch.compile has no row: an expert has as many tokens as the data say.
"""

import torch

from implementation import (
    INTERPRETED,
    Implementation,
    short_rows,
    sixteen_bit,
    tile_side,
    tl,
    triton,
)

DIFFERENTIABLE = (0, 1, 2, 3, 4)  # of the inputs of reference
TILE_MAX = 64  # of rows and columns
TILE_K = 128 if INTERPRETED else 32
PROGRAMS = 2 if INTERPRETED else 528  # four for each multiprocessor of a Hopper GPU
BLOCK = 8192 if INTERPRETED else 1024  # elements of a program


@triton.jit
def _moe_product_kernel(a_ptr, b_ptr, c_ptr, y_ptr, z_ptr, order_ptr, offsets_ptr, experts, rows, cols, depth,
                        a_row, a_col, b_group, b_k, b_col, c_group, c_k, c_col, TOP: tl.constexpr,
                        GATED: tl.constexpr, BY_DEPTH: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
                        K: tl.constexpr):
    """Every so-manieth [M, N] tile of all experts. y = a b for the pairs of an expert, a having a row for
    each TOP pairs; GATED also z = a c. BY_DEPTH each expert has a matrix y = a^T b, and b a row for each
    pair."""
    programs = tl.num_programs(0)
    next_tile = tl.program_id(0).to(tl.int64)  # counted from the first tile of the expert
    across = tl.cdiv(cols, N)
    for e in range(0, experts):
        first = tl.load(offsets_ptr + e)
        size = tl.load(offsets_ptr + e + 1) - first
        expert = first * 0 + e
        height, length = (first * 0 + rows, size) if BY_DEPTH else (size, first * 0 + depth)
        tiles = tl.cdiv(height, M) * across
        for tile in range(next_tile, tiles, programs):
            rm = tile // across * M + tl.arange(0, M)
            rn = tile % across * N + tl.arange(0, N)
            acc = tl.zeros([M, N], tl.float32)
            gated = tl.zeros([M, N], tl.float32)
            pair = rm
            if not BY_DEPTH:
                pair = tl.load(order_ptr + first + rm, mask=rm < height, other=0)
            for k0 in range(0, length, K):
                rk = k0 + tl.arange(0, K).to(tl.int64)
                inside = (rk < length)[:, None] & (rn < cols)[None, :]
                if BY_DEPTH:
                    at = tl.load(order_ptr + first + rk, mask=rk < length, other=0)
                    a_at, b_at = rm[:, None] * a_col + (at // TOP)[None, :] * a_row, at * b_k
                else:
                    a_at = (pair // TOP)[:, None] * a_row + rk[None, :] * a_col
                    b_at = expert * b_group + rk * b_k
                a = tl.load(a_ptr + a_at, mask=(rm < height)[:, None] & (rk < length)[None, :], other=0.0)
                b = tl.load(b_ptr + b_at[:, None] + rn[None, :] * b_col, mask=inside, other=0.0)
                acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=tl.float32)
                if GATED:
                    c = tl.load(c_ptr + expert * c_group + rk[:, None] * c_k + rn[None, :] * c_col,
                                mask=inside, other=0.0)
                    gated = tl.dot(a, c, gated, input_precision="ieee", out_dtype=tl.float32)
            row = expert * rows + rm if BY_DEPTH else pair
            inside = (rm < height)[:, None] & (rn < cols)[None, :]
            tl.store(y_ptr + row[:, None] * cols + rn[None, :], acc.to(y_ptr.dtype.element_ty), mask=inside)
            if GATED:
                tl.store(z_ptr + row[:, None] * cols + rn[None, :], gated.to(z_ptr.dtype.element_ty),
                         mask=inside)
        # the first tile of the next expert that is this program's
        next_tile += tl.maximum(tl.cdiv(tiles - next_tile, programs), 0) * programs - tiles


@triton.jit
def _moe_gated_kernel(g_ptr, u_ptr, h_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    u = tl.load(u_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(h_ptr + i, (g * tl.sigmoid(g) * u).to(h_ptr.dtype.element_ty), mask=i < n)


@triton.jit
def _moe_through_kernel(g_ptr, u_ptr, q_ptr, w_ptr, h_ptr, d_ptr, pairs, cols, ROWS: tl.constexpr,
                        BLOCK: tl.constexpr):
    """ROWS pairs: dg and du in the places of g and u, h, and the gradients d of their weights."""
    p = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    w = tl.load(w_ptr + p, mask=p < pairs, other=0.0)
    d = tl.zeros([ROWS, BLOCK], tl.float32)
    for first in range(0, cols, BLOCK):
        c = first + tl.arange(0, BLOCK)
        i, inside = p[:, None] * cols + c[None, :], (p < pairs)[:, None] & (c < cols)[None, :]
        g = tl.load(g_ptr + i, mask=inside, other=0.0).to(tl.float32)
        u = tl.load(u_ptr + i, mask=inside, other=0.0).to(tl.float32)
        q = tl.load(q_ptr + i, mask=inside, other=0.0)
        s = tl.sigmoid(g)
        h, dh = g * s * u, w[:, None] * q
        d += tl.where(inside, h * q, 0.0)
        tl.store(g_ptr + i, (dh * u * (s * (1 + g * (1 - s)))).to(g_ptr.dtype.element_ty), mask=inside)
        tl.store(u_ptr + i, (dh * (g * s)).to(u_ptr.dtype.element_ty), mask=inside)
        tl.store(h_ptr + i, h.to(h_ptr.dtype.element_ty), mask=inside)
    tl.store(d_ptr + p, tl.sum(d, 1), mask=p < pairs)


class _Pairs:
    """The pairs of token and expert, sorted by expert, and products over them."""

    def __init__(self, choice, experts: int):
        self.top, self.experts, self.pairs = choice.shape[1], experts, choice.numel()
        ordered, self.order = torch.sort(choice.flatten(), stable=True)
        bounds = torch.arange(experts + 1, dtype=ordered.dtype, device=choice.device)
        self.offsets = torch.searchsorted(ordered, bounds)
        self.most = choice.shape[0]  # of an expert: a token has it once at most

    def rows(self, a, b, dtype, c=None):
        """Of each pair a row times its expert's matrix b [experts, depth, cols], and c; a has rows of tokens
        or of pairs."""
        depth, cols = b.shape[1:]
        y = torch.empty((1 if c is None else 2, self.pairs, cols), dtype=dtype, device=a.device)
        if y.numel():
            _moe_product_kernel[(PROGRAMS,)](
                a, b, b if c is None else c, y[0], y[-1], self.order, self.offsets, self.experts, self.pairs,
                cols, depth, *a.stride(), *b.stride(), *(b if c is None else c).stride(),
                TOP=self.pairs // a.shape[0], GATED=c is not None, BY_DEPTH=False,
                M=tile_side(self.most, TILE_MAX), N=tile_side(cols, TILE_MAX), K=tile_side(depth, TILE_K))
        return y[0] if c is None else y

    def depth(self, a, b):
        """Of each expert a^T b over its pairs, a having rows of tokens or of pairs, b of pairs."""
        rows, cols = a.shape[1], b.shape[1]
        y = torch.zeros((self.experts, rows, cols), dtype=b.dtype, device=a.device)
        if self.pairs:
            _moe_product_kernel[(PROGRAMS,)](
                a, b, b, y, y, self.order, self.offsets, self.experts, rows, cols, 0, *a.stride(), 0,
                *b.stride(), 0, *b.stride(), TOP=self.pairs // a.shape[0], GATED=False, BY_DEPTH=True,
                M=tile_side(rows, TILE_MAX), N=tile_side(cols, TILE_MAX), K=tile_side(self.most, TILE_K))
        return y


def forward(x, router, gate, up, down, *, top, normalise):
    """x [tokens, dim], router, gate, up, down -> y [tokens, dim], choice [tokens, top] int32, weight fp32."""
    logits = _logits(x, router)
    choice = torch.topk(logits, top, dim=1).indices
    w = _weights(logits, choice, normalise)
    pairs = _Pairs(choice, router.shape[0])
    g, u = pairs.rows(x, gate, x.dtype, up)
    h = torch.empty_like(g)
    if h.numel():
        _moe_gated_kernel[(triton.cdiv(h.numel(), BLOCK),)](g, u, h, h.numel(), BLOCK=BLOCK)
    parts = pairs.rows(h, down, torch.float32).view(*choice.shape, x.shape[1])
    return (w[..., None] * parts).sum(1).to(x.dtype), choice.int(), w


def backward(x, router, gate, up, down, choice, grad_y, *, top, normalise):
    """Inputs, choice, grad_y [tokens, dim] -> the gradients of the five inputs."""
    logits, choice = _logits(x, router), choice.long()
    w = _weights(logits, choice, normalise)
    pairs = _Pairs(choice, router.shape[0])
    g, u = pairs.rows(x, gate, x.dtype, up)
    q = pairs.rows(grad_y, down.mT, torch.float32)
    h, d = torch.empty_like(g), torch.empty_like(w)
    if h.numel():
        taken = short_rows(*h.shape, BLOCK)
        _moe_through_kernel[(triton.cdiv(h.shape[0], taken["ROWS"]),)](g, u, q, w, h, d, *h.shape, **taken)
    dz = _grad_logits(logits, choice, w, d, normalise)
    parts = pairs.rows(g, gate.mT, torch.float32) + pairs.rows(u, up.mT, torch.float32)
    grad_x = parts.view(*choice.shape, x.shape[1]).sum(1) + dz @ router.float()
    weighted = (w[..., None] * grad_y[:, None].float()).to(x.dtype).flatten(0, 1)
    return (grad_x.to(x.dtype), (dz.mT @ x.float()).to(x.dtype), pairs.depth(x, g), pairs.depth(x, u),
            pairs.depth(h, weighted))


# ---- torch


def _wide(x):
    """fp32, or fp64 where x is."""
    return x if x.dtype == torch.float64 else x.float()


def _logits(x, router):
    return _wide(x) @ _wide(router).mT


def _weights(logits, choice, normalise):
    if normalise:  # the others' share is divided out
        return logits.gather(1, choice).softmax(1)
    return logits.softmax(1).gather(1, choice)


def _grad_logits(logits, choice, w, d, normalise):
    """The gradients of the logits from those of the weights."""
    total = (w * d).sum(1, keepdim=True)
    dz = torch.zeros_like(logits) if normalise else -total * logits.softmax(1)
    return dz.scatter(1, choice, w * (d - total))


def reference(x, router, gate, up, down, *, top, normalise):
    """The formula in torch, a choice of all tokens after the other, in the dtype of x; differentiable."""
    logits = _logits(x, router)
    choice = torch.sort(logits.detach(), dim=1, descending=True, stable=True).indices[:, :top]
    w = _weights(logits, choice, normalise)
    y = 0
    for i in range(top):
        e, row = choice[:, i], x[:, None]
        h = torch.nn.functional.silu(row @ gate[e]) * (row @ up[e])
        y = y + w[:, i, None] * (h @ down[e])[:, 0]
    return y, choice.int(), w


def reference_backward(x, router, gate, up, down, choice, grad_y, *, top, normalise):
    """The backward formula in torch under a choice, an expert after the other."""
    return _backward_by_expert(x, router, gate, up, down, choice.long(), grad_y, normalise)


def _gated(x, gate, up):
    """g, u and h = silu(g) u of some tokens in one expert."""
    g, u = x @ gate, x @ up
    return g, u, (torch.nn.functional.silu(_wide(g)) * _wide(u)).to(x.dtype)


def by_expert(x, router, gate, up, down, *, top, normalise):
    """The forward, an expert after the other with the tokens that have it."""
    logits = _logits(x, router)
    choice = torch.topk(logits, top, dim=1).indices
    w = _weights(logits, choice, normalise)
    parts = x.new_empty((*choice.shape, x.shape[1]))
    for e in range(router.shape[0]):
        t, i = torch.where(choice == e)
        parts[t, i] = _gated(x[t], gate[e], up[e])[2] @ down[e]
    return (w[..., None] * _wide(parts)).sum(1).to(x.dtype), choice.int(), w


def _backward_by_expert(x, router, gate, up, down, choice, grad_y, normalise):
    logits = _logits(x, router)
    w = _weights(logits, choice, normalise)
    d, dx, grads = torch.zeros_like(w), torch.zeros_like(_wide(x)), []
    for e in range(router.shape[0]):
        t, i = torch.where(choice == e)
        g, u, h = _gated(x[t], gate[e], up[e])
        dy, own = grad_y[t], w[t, i][:, None]
        q = _wide(dy @ down[e].mT)
        s, dh = _wide(g).sigmoid(), own * q
        dg = (dh * _wide(u) * (s * (1 + _wide(g) * (1 - s)))).to(x.dtype)
        du = (dh * (_wide(g) * s)).to(x.dtype)
        d = d.index_put((t, i), (_wide(h) * q).sum(1))
        dx = dx.index_add(0, t, _wide(dg @ gate[e].mT) + _wide(du @ up[e].mT))
        grads.append((x[t].mT @ dg, x[t].mT @ du, h.mT @ (own * _wide(dy)).to(x.dtype)))
    dz = _grad_logits(logits, choice, w, d, normalise)
    of_gate, of_up, of_down = (torch.stack(each) for each in zip(*grads))
    return ((dx + dz @ _wide(router)).to(x.dtype), (dz.mT @ _wide(x)).to(x.dtype), of_gate, of_up, of_down)


_NAMES = {"outputs": ("y", "choice", "weight"),
          "gradients": ("grad_x", "grad_router", "grad_gate", "grad_up", "grad_down"),
          "contract": sixteen_bit("stored")}

IMPLEMENTATIONS = [
    Implementation("triton/grouped", forward, backward, **_NAMES),
    Implementation("torch/eager", by_expert, reference_backward, **_NAMES),
]
