"""Planted bugs in attention in Triton: triton/right is right, the others are it with one line changed. They give o alone."""

import torch

from implementation import Implementation, next_power_of_2, sixteen_bit, tl, triton


@triton.jit
def _kernel(q_ptr, k_ptr, v_ptr, o_ptr, heads_q, heads_kv, seq_q, seq_kv, dim, scale, CAUSAL: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr,
            DIM: tl.constexpr, BUG: tl.constexpr):
    """All queries of one head."""
    head = tl.program_id(0).to(tl.int64)
    kv = head // heads_q * heads_kv + head % heads_q // (heads_q // heads_kv)
    i = tl.arange(0, QUERIES)[:, None]
    j = tl.arange(0, KEYS)[None, :]
    d = tl.arange(0, DIM)[None, :]
    row = tl.arange(0, KEYS)[:, None]
    q = tl.load(q_ptr + (head * seq_q + i) * dim + d, mask=(i < seq_q) & (d < dim), other=0.0).to(tl.float32)
    k = tl.load(k_ptr + (kv * seq_kv + row) * dim + d, mask=(row < seq_kv) & (d < dim), other=0.0).to(tl.float32)
    v = tl.load(v_ptr + (kv * seq_kv + row) * dim + d, mask=(row < seq_kv) & (d < dim), other=0.0).to(tl.float32)
    seen = (j < seq_kv) & (i < seq_q)
    if CAUSAL:
        seen = seen & (j <= i + seq_kv - seq_q + (1 if BUG == "one_future_key" else 0))
    if BUG == "padding_seen":
        seen = seen | (j >= seq_kv)
    if BUG == "first_key_skipped":
        seen = seen & (j > 0)
    s = tl.where(seen, tl.dot(q, tl.trans(k), input_precision="ieee") * scale, float("-inf"))
    m = tl.max(s, axis=1)
    m = tl.where(m == float("-inf"), 0.0, m)
    e = tl.where(seen, tl.exp(s - m[:, None]), 0.0)
    if BUG == "weights_in_e5m2":
        e = e.to(tl.float8e5).to(tl.float32)
    l = tl.sum(e, axis=1)[:, None]
    o = tl.dot(e, v, input_precision="ieee") / tl.where(l == 0, 1.0, l)
    tl.store(o_ptr + (head * seq_q + i) * dim + d, o.to(o_ptr.dtype.element_ty), mask=(i < seq_q) & (d < dim))


def _tile(n: int) -> int:
    return max(16, next_power_of_2(n))


def row(bug: str) -> Implementation:
    def forward(q, k, v, *, causal, scale):
        batch, heads_q, seq_q, dim = q.shape
        o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
        if o.numel():
            _kernel[(batch * heads_q,)](q, k, v, o, heads_q, k.shape[1], seq_q, k.shape[2], dim, scale, CAUSAL=causal, QUERIES=_tile(seq_q),
                                        KEYS=_tile(k.shape[2]), DIM=_tile(dim), BUG=bug)
        return o

    def accepts(direction, *tensors, **attributes):
        if tensors[2].shape[3] != tensors[0].shape[3]:
            return "head_dim_v is not head_dim"
        return None if all(t.is_contiguous() for t in tensors) else "an input is not contiguous"

    return Implementation(f"triton/{bug}", forward, outputs=("o",), contract=sixteen_bit("p16"), accepts=accepts)


IMPLEMENTATIONS = [row(bug) for bug in ("right", "one_future_key", "padding_seen", "first_key_skipped", "weights_in_e5m2")]
