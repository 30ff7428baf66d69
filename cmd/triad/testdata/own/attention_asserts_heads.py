import torch
import triton
import triton.language as tl


@triton.jit
def _attn_fwd(Q, K, V, O, L, stride_bh, N_Q, N_K, scale, CAUSAL: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, stride_kv):
    pm = tl.program_id(0)
    bh = tl.program_id(1)
    offs_m = pm * BM + tl.arange(0, BM)
    offs_n = tl.arange(0, BN)
    offs_d = tl.arange(0, D)
    q = tl.load(Q + bh * stride_bh + offs_m[:, None] * D + offs_d[None, :], mask=offs_m[:, None] < N_Q, other=0.0)
    m_i = tl.full((BM,), -float("inf"), dtype=tl.float32)
    l_i = tl.zeros((BM,), dtype=tl.float32)
    acc = tl.zeros((BM, D), dtype=tl.float32)
    for start in range(0, N_K, BN):
        n = start + offs_n
        k = tl.load(K + bh * stride_kv + n[:, None] * D + offs_d[None, :], mask=n[:, None] < N_K, other=0.0)
        v = tl.load(V + bh * stride_kv + n[:, None] * D + offs_d[None, :], mask=n[:, None] < N_K, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        s = tl.where(n[None, :] < N_K, s, -float("inf"))
        if CAUSAL:
            s = tl.where(offs_m[:, None] + N_K - N_Q >= n[None, :], s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        m_safe = tl.where(m_new == -float("inf"), 0.0, m_new)
        p = tl.exp(s - m_safe[:, None])
        alpha = tl.exp(m_i - m_safe)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    out = acc / tl.where(l_i == 0.0, 1.0, l_i)[:, None]
    tl.store(O + bh * stride_bh + offs_m[:, None] * D + offs_d[None, :], out, mask=offs_m[:, None] < N_Q)
    tl.store(L + bh * N_Q + offs_m, m_i + tl.log(l_i), mask=offs_m < N_Q)


def flash_attention(q, k, v, causal=False):
    B, H, N, D = q.shape
    S = k.shape[2]
    assert k.shape[1] == H
    o = torch.empty_like(q)
    lse = torch.empty((B, H, N), device=q.device, dtype=torch.float32)
    scale = D ** -0.5
    grid = (triton.cdiv(N, 32), B * H)
    _attn_fwd[grid](q, k, v, o, lse, q.stride(1), N, S, scale, causal, D, 32, 32, k.stride(1))
    return o, lse
