"""rope in cuTile: out1 = x1 * cos[p, i] - x2 * sin[p, i], out2 = x2 * cos[p, i] + x1 * sin[p, i]
backward: the rotation by the negative angle

Layout, limits and contract are those of rope.py. The first and the second elements of the pairs are two views
of a tensor, so that both orders of pairs are the same kernel.
  cutile/block  a tile of heads of tokens per block, all pairs of a head
"""

import torch

from cutile import by_tma, ct, launch
from implementation import Implementation, ceildiv, next_power_of_2

TILE = 1024  # pairs of a block


@ct.kernel
def _rope(x1, x2, cos, sin, out1, out2, INVERSE: ct.Constant[bool], TOKENS: ct.Constant[int],
          HEADS: ct.Constant[int], PAIRS: ct.Constant[int], TMA: ct.Constant[bool]):
    """x1, x2 and what is written [batch, seq, heads, half], cos and sin [seq, half]."""
    shape = (1, TOKENS, HEADS, PAIRS)
    across = ct.num_tiles(out1, 2, shape)
    along = ct.num_tiles(out1, 1, shape)
    t = ct.bid(0) // across % along
    at = (ct.bid(0) // across // along, t, ct.bid(0) % across, 0)
    a = ct.load(x1, at, shape, padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    b = ct.load(x2, at, shape, padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    c = ct.load(cos, (t, 0), (TOKENS, PAIRS), padding_mode=ct.PaddingMode.ZERO)
    s = ct.load(sin, (t, 0), (TOKENS, PAIRS), padding_mode=ct.PaddingMode.ZERO)
    if INVERSE:
        s = -s
    c = c.reshape((1, TOKENS, 1, PAIRS))
    s = s.reshape((1, TOKENS, 1, PAIRS))
    ct.store(out1, at, (a * c - b * s).astype(out1.dtype), allow_tma=TMA)
    ct.store(out2, at, (b * c + a * s).astype(out2.dtype), allow_tma=TMA)


def _pairs(x, interleaved: bool):
    half = x.shape[-1] // 2
    return (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])


def _rotate(x, cos, sin, interleaved: bool, offset: int, inverse: bool):
    """x [batch, seq, heads, head_dim] rotated, or rotated back."""
    batch, seq, heads, head_dim = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if out.numel():
        pairs = next_power_of_2(head_dim // 2)
        high = min(next_power_of_2(heads), max(1, TILE // pairs))
        tokens = max(1, min(TILE // pairs // high, next_power_of_2(seq)))
        here = slice(offset, offset + seq)
        halves = _pairs(out, interleaved)
        launch(_rope, batch * ceildiv(seq, tokens) * ceildiv(heads, high), *_pairs(x, interleaved), cos[here],
               sin[here], *halves, inverse, tokens, high, pairs, by_tma(halves[0]))
    return out


def forward(q, k, cos, sin, *, interleaved, offset):
    """q [batch, seq, heads_q, head_dim], k [batch, seq, heads_k, head_dim] -> q_out, k_out of their
    shapes."""
    return tuple(_rotate(x, cos, sin, interleaved, offset, False) for x in (q, k))


def backward(cos, sin, grad_q_out, grad_k_out, *, interleaved, offset):
    """The gradients of q_out and k_out -> grad_q, grad_k of their shapes."""
    return tuple(_rotate(x, cos, sin, interleaved, offset, True) for x in (grad_q_out, grad_k_out))


IMPLEMENTATIONS = [
    Implementation("cutile/block", forward, backward, outputs=("q_out", "k_out"),
                   gradients=("grad_q", "grad_k"), module="cuda.tile"),
]
