"""flash-linear-attention's native sparse attention, a peer: its kernels over blocks that are given and over
one key for each block, under the names of nsa_selected and nsa_compressed.

Its kernels multiply scale * q in q's dtype, which rounds it where scale is no power of two: nothing else is
called. A group of heads is a dimension of their tiles: a power of two of at least 16.
"""

import math
from typing import Any

import torch

from implementation import Implementation

MODULE = "fla.ops.nsa.parallel"
DTYPES = ("fp16", "bf16")
CONSTRAINT = "groups of 16 heads or more and blocks of 16 tokens or more, powers of two as scale; window 0"
ANY_ORDER = ("grad_k", "grad_v")
"""Of nsa_selected: the queries of a block are listed in the order in which atomics arrive."""


def _power_of_two(x: int) -> bool:
    return x >= 16 and x & (x - 1) == 0


def accepts(row: str):
    """The accepts of a row. Nothing of fla is imported for a call that it has not."""
    def declines(direction, q, k, *rest, block_size, scale, window=None, **attributes):
        group = q.shape[2] // k.shape[2]
        if not _power_of_two(group):
            return f"{row}: {group} heads share a key head, not a power of two of at least 16"
        if not _power_of_two(block_size):
            return f"{row}: blocks of {block_size} tokens, not a power of two of at least 16"
        if abs(math.frexp(scale)[0]) != 0.5:
            return f"{row}: it rounds {scale:g} * q, which is exact for powers of two alone"
        if window:
            return f"{row}: its window of {window} tokens is flash-attn's, for which there is no wheel"
        if direction == "backward" and window is not None and rest[1].shape[3].bit_count() != 1:
            return f"{row}: its backward is for a power of two of blocks a token, not {rest[1].shape[3]}"
        return None
    return declines


def compressed_forward(q, k, v, *, block_size, scale, empty_lse):
    """As nsa_compressed's forward. Its lse over no block is 0."""
    from fla.ops.nsa.compression import parallel_nsa_compression_fwd
    o, lse = parallel_nsa_compression_fwd(q=q.contiguous(), k=k.contiguous(), v=v.contiguous(), TK=q.shape[1],
                                          block_size=block_size, scale=scale)
    if empty_lse != "zero":
        lse[:, :block_size - 1] = -math.inf
    return o, lse


def compressed_backward(q, k, v, o, lse, grad_o, *, block_size, scale, empty_lse):
    """As nsa_compressed's backward."""
    from fla.ops.nsa.compression import parallel_nsa_compression_bwd
    q, k, v, o, lse, grad_o = (x.contiguous() for x in (q, k, v, o, lse, grad_o))
    return parallel_nsa_compression_bwd(q=q, k=k, v=v, o=o, lse=lse, do=grad_o, block_size=block_size,
                                        scale=scale)


def _attend(q, k, v, indices, block_size: int, scale: float):
    """Its output before the gate, 0 over no key, where it divides 0 by 0; and lse."""
    from fla.ops.nsa.parallel import parallel_nsa_fwd
    o, lse = parallel_nsa_fwd(q=q, k=k, v=v, block_indices=indices, block_counts=indices.shape[3],
                              block_size=block_size, scale=scale)
    return o.masked_fill_((lse == -math.inf)[..., None], 0), lse


def selected_forward(q, k, v, indices, g_slc, g_swa, *, block_size, window, scale):
    """As nsa_selected's forward without a window. The gate is torch's, as in parallel_nsa."""
    q, k, v, indices = (x.contiguous() for x in (q, k, v, indices))
    return _attend(q, k, v, indices, block_size, scale)[0] * g_slc[..., None]


def selected_backward(q, k, v, indices, g_slc, g_swa, grad_o, *, block_size, window, scale):
    """As nsa_selected's backward without a window: the forward again, then fla's backward."""
    from fla.ops.nsa.parallel import parallel_nsa_bwd
    q, k, v, indices, grad_o = (x.contiguous() for x in (q, k, v, indices, grad_o))
    o, lse = _attend(q, k, v, indices, block_size, scale)
    grad_q, grad_k, grad_v = parallel_nsa_bwd(
        q=q, k=k, v=v, o=o, lse=lse, do=grad_o * g_slc[..., None], block_indices=indices,
        block_counts=indices.shape[3], block_size=block_size, scale=scale)
    grad_gate = torch.einsum("bthd,bthd->bth", grad_o, o)
    return grad_q, grad_k, grad_v, grad_gate, torch.zeros_like(g_swa)


def compressed_row(names: dict[str, Any]) -> Implementation:
    """The row of nsa_compressed; names are those of its results, and its contract."""
    return Implementation("fla/kernel", compressed_forward, compressed_backward, dtypes=DTYPES, module=MODULE,
                          accepts=accepts("nsa_compressed/fla/kernel"), constraint=CONSTRAINT, **names)


def selected_row(names: dict[str, Any]) -> Implementation:
    """The row of nsa_selected; names are those of its results, and its contract."""
    return Implementation("fla/kernel", selected_forward, selected_backward, dtypes=DTYPES, module=MODULE,
                          accepts=accepts("nsa_selected/fla/kernel"), nondeterministic=ANY_ORDER,
                          constraint=CONSTRAINT + "; backward: a power of two of blocks a token", **names)
