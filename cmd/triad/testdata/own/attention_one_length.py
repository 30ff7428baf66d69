"""Attention of tokens that see those before them: one length for queries and keys, in fp32."""
import torch
import triton
import triton.language as tl


@triton.jit
def attend(Q, K, V, O, T, D, scale, step_head, step_token, SIDE: tl.constexpr, WIDTH: tl.constexpr):
    base = tl.program_id(1) * step_head
    query = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    dim = tl.arange(0, WIDTH)
    q = tl.load(Q + base + query[:, None] * step_token + dim[None, :],
                mask=(query[:, None] < T) & (dim[None, :] < D), other=0.0)
    top = tl.full((SIDE,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((SIDE,), dtype=tl.float32)
    out = tl.zeros((SIDE, WIDTH), dtype=tl.float32)
    for start in range(0, T, SIDE):
        key = start + tl.arange(0, SIDE)
        inside = (key[:, None] < T) & (dim[None, :] < D)
        k = tl.load(K + base + key[:, None] * step_token + dim[None, :], mask=inside, other=0.0)
        v = tl.load(V + base + key[:, None] * step_token + dim[None, :], mask=inside, other=0.0)
        score = tl.dot(q, tl.trans(k)) * scale
        causal = query[:, None] >= key[None, :]
        score = tl.where(causal & (key[None, :] < T), score, float("-inf"))
        above = tl.maximum(top, tl.max(score, axis=1))
        weight = tl.exp(score - above[:, None])
        before = tl.exp(top - above)
        total = total * before + tl.sum(weight, axis=1)
        out = out * before[:, None] + tl.dot(weight, v)
        top = above
    out = out / total[:, None]
    tl.store(O + base + query[:, None] * step_token + dim[None, :], out,
             mask=(query[:, None] < T) & (dim[None, :] < D))


def attention(q, k, v):
    B, H, T, D = q.shape
    k = k.contiguous()
    o = torch.empty_like(q)
    grid = (triton.cdiv(T, 16), B * H)
    attend[grid](q, k, v, o, T, D, D ** -0.5, q.stride(1), q.stride(2), SIDE=16,
                 WIDTH=max(16, triton.next_power_of_2(D)))
    return o
