"""Wrong gradients of attention: triton/right is right, the others are it with one line changed. A program a key head holds everything."""

import torch

from implementation import Implementation, next_power_of_2, sixteen_bit, tl, triton


@triton.jit
def _backward(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, do_ptr, dq_ptr, dk_ptr, dv_ptr, seq_q, seq_kv, scale, group, heads_kv,
              D: tl.constexpr, Q: tl.constexpr, KV: tl.constexpr, CAUSAL: tl.constexpr, BUG: tl.constexpr):
    kv = tl.program_id(0)
    i = tl.arange(0, Q)[:, None]
    j = tl.arange(0, KV)
    d = tl.arange(0, D)[None, :]
    keys = (kv * seq_kv + j[:, None]) * D + d
    k = tl.load(k_ptr + keys, mask=j[:, None] < seq_kv, other=0.0).to(tl.float32)
    v = tl.load(v_ptr + keys, mask=j[:, None] < seq_kv, other=0.0).to(tl.float32)
    dk = tl.zeros([KV, D], tl.float32)
    dv = tl.zeros([KV, D], tl.float32)
    for g in range(0, group):
        head = (kv // heads_kv * heads_kv + kv % heads_kv) * group + g
        rows = (head * seq_q + i) * D + d
        q = tl.load(q_ptr + rows, mask=i < seq_q, other=0.0).to(tl.float32)
        o = tl.load(o_ptr + rows, mask=i < seq_q, other=0.0).to(tl.float32)
        do = tl.load(do_ptr + rows, mask=i < seq_q, other=0.0).to(tl.float32)
        lse = tl.load(lse_ptr + head * seq_q + i, mask=i < seq_q, other=float("-inf"))
        visible = (j[None, :] < seq_kv) & (i < seq_q)
        if CAUSAL:
            shift = 0 if BUG == "aligned_top_left" else seq_kv - seq_q
            visible = visible & (j[None, :] <= i + shift)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        p = tl.where(visible & (lse > float("-inf")), tl.exp(s - lse), 0.0)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        delta = tl.sum(do * o, axis=1)[:, None]
        if BUG == "delta_missing":
            delta = delta * 0
        ds = p * (dp - delta)
        if BUG != "scale_missing":
            ds = ds * scale
        if BUG == "not_summed_over_the_group":
            dk = dk * 0
            dv = dv * 0
        dq = tl.dot(ds, k, input_precision="ieee")
        tl.store(dq_ptr + rows, dq.to(dq_ptr.dtype.element_ty), mask=i < seq_q)
        dk += tl.dot(tl.trans(ds), q, input_precision="ieee")
        dv += tl.dot(tl.trans(p), do, input_precision="ieee")
    tl.store(dk_ptr + keys, dk.to(dk_ptr.dtype.element_ty), mask=j[:, None] < seq_kv)
    tl.store(dv_ptr + keys, dv.to(dv_ptr.dtype.element_ty), mask=j[:, None] < seq_kv)


def forward(q, k, v, causal, scale):
    group = q.shape[1] // k.shape[1]
    s = torch.einsum("bhqd,bhkd->bhqk", q.float(), k.float().repeat_interleave(group, 1)) * scale
    if causal:
        s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool).triu(s.shape[-1] - s.shape[-2] + 1), float("-inf"))
    lse = torch.logsumexp(s, -1)
    p = torch.exp(s - lse.masked_fill(lse == float("-inf"), 0)[..., None])
    return torch.einsum("bhqk,bhkd->bhqd", p, v.float().repeat_interleave(group, 1)).to(q.dtype).contiguous(), lse


def row(bug):
    def backward(q, k, v, o, lse, do, causal, scale):
        dq, dk, dv = (torch.empty(t.shape, dtype=t.dtype) for t in (q, k, v))
        batch, heads_kv, seq_kv, dim = k.shape
        _backward[(batch * heads_kv,)](q, k, v, o, lse, do, dq, dk, dv, q.shape[2], seq_kv, scale, q.shape[1] // heads_kv, heads_kv, D=dim,
                                       Q=next_power_of_2(q.shape[2]), KV=next_power_of_2(seq_kv), CAUSAL=causal, BUG=bug)
        return (dq, dv, dk) if bug == "swapped_outputs" else (dq, dk, dv)

    return Implementation(f"triton/{bug}", forward, backward, outputs=("o", "lse"), gradients=("grad_q", "grad_k", "grad_v"), contract=sixteen_bit("p16"))


IMPLEMENTATIONS = [row(bug) for bug in ("right", "delta_missing", "scale_missing", "not_summed_over_the_group", "swapped_outputs", "aligned_top_left")]
