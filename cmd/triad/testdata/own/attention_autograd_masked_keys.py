# The gradient of q masks the keys beyond the end.
import torch
import triton
import triton.language as tl


@triton.jit
def _fwd(q, k, v, o, lse, T, S, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0)
    bh = tl.program_id(1)
    rm = i * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    qq = tl.load(q + bh * T * D + rm[:, None] * D + d[None, :], mask=rm[:, None] < T, other=0.0).to(tl.float32)
    m = tl.full((BM,), -float("inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for s in range(0, S, BN):
        rn = s + tl.arange(0, BN)
        kk = tl.load(k + bh * S * D + rn[:, None] * D + d[None, :], mask=rn[:, None] < S, other=0.0).to(tl.float32)
        vv = tl.load(v + bh * S * D + rn[:, None] * D + d[None, :], mask=rn[:, None] < S, other=0.0).to(tl.float32)
        z = tl.dot(qq, tl.trans(kk)) * scale
        z = tl.where(rn[None, :] < S, z, -float("inf"))
        mn = tl.maximum(m, tl.max(z, axis=1))
        p = tl.exp(z - mn[:, None])
        a = tl.exp(m - mn)
        l = l * a + tl.sum(p, axis=1)
        acc = acc * a[:, None] + tl.dot(p, vv)
        m = mn
    tl.store(o + bh * T * D + rm[:, None] * D + d[None, :], acc / l[:, None], mask=rm[:, None] < T)
    tl.store(lse + bh * T + rm, m + tl.log(l), mask=rm < T)


@triton.jit
def _bwd_dq(q, k, v, do, lse, delta, dq, T, S, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0)
    bh = tl.program_id(1)
    rm = i * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    qq = tl.load(q + bh * T * D + rm[:, None] * D + d[None, :], mask=rm[:, None] < T, other=0.0).to(tl.float32)
    dd = tl.load(do + bh * T * D + rm[:, None] * D + d[None, :], mask=rm[:, None] < T, other=0.0).to(tl.float32)
    L = tl.load(lse + bh * T + rm, mask=rm < T, other=0.0)
    De = tl.load(delta + bh * T + rm, mask=rm < T, other=0.0)
    acc = tl.zeros((BM, D), tl.float32)
    for s in range(0, S, BN):
        rn = s + tl.arange(0, BN)
        kk = tl.load(k + bh * S * D + rn[:, None] * D + d[None, :], mask=rn[:, None] < S, other=0.0).to(tl.float32)
        vv = tl.load(v + bh * S * D + rn[:, None] * D + d[None, :], mask=rn[:, None] < S, other=0.0).to(tl.float32)
        p = tl.exp(tl.dot(qq, tl.trans(kk)) * scale - L[:, None])
        p = tl.where(rn[None, :] < S, p, 0.0)
        ds = p * (tl.dot(dd, tl.trans(vv)) - De[:, None])
        acc += tl.dot(ds, kk) * scale
    tl.store(dq + bh * T * D + rm[:, None] * D + d[None, :], acc, mask=rm[:, None] < T)


@triton.jit
def _bwd_dkv(q, k, v, do, lse, delta, dk, dv, T, S, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    j = tl.program_id(0)
    bh = tl.program_id(1)
    rn = j * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    kk = tl.load(k + bh * S * D + rn[:, None] * D + d[None, :], mask=rn[:, None] < S, other=0.0).to(tl.float32)
    vv = tl.load(v + bh * S * D + rn[:, None] * D + d[None, :], mask=rn[:, None] < S, other=0.0).to(tl.float32)
    ak = tl.zeros((BN, D), tl.float32)
    av = tl.zeros((BN, D), tl.float32)
    for s in range(0, T, BM):
        rm = s + tl.arange(0, BM)
        qq = tl.load(q + bh * T * D + rm[:, None] * D + d[None, :], mask=rm[:, None] < T, other=0.0).to(tl.float32)
        dd = tl.load(do + bh * T * D + rm[:, None] * D + d[None, :], mask=rm[:, None] < T, other=0.0).to(tl.float32)
        L = tl.load(lse + bh * T + rm, mask=rm < T, other=float("inf"))
        De = tl.load(delta + bh * T + rm, mask=rm < T, other=0.0)
        p = tl.exp(tl.dot(qq, tl.trans(kk)) * scale - L[:, None])
        p = tl.where(rn[None, :] < S, p, 0.0)
        av += tl.dot(tl.trans(p), dd)
        ds = p * (tl.dot(dd, tl.trans(vv)) - De[:, None])
        ak += tl.dot(tl.trans(ds), qq) * scale
    tl.store(dk + bh * S * D + rn[:, None] * D + d[None, :], ak, mask=rn[:, None] < S)
    tl.store(dv + bh * S * D + rn[:, None] * D + d[None, :], av, mask=rn[:, None] < S)


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        B, H, T, D = q.shape
        S = k.shape[2]
        assert k.shape[1] == H and D in (16, 32, 64, 128)
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        o = torch.empty_like(q)
        lse = torch.empty((B, H, T), device=q.device, dtype=torch.float32)
        _fwd[(triton.cdiv(T, 32), B * H)](q, k, v, o, lse, T, S, D**-0.5, D=D, BM=32, BN=32)
        ctx.save_for_backward(q, k, v, o, lse)
        return o

    @staticmethod
    def backward(ctx, do):
        q, k, v, o, lse = ctx.saved_tensors
        B, H, T, D = q.shape
        S = k.shape[2]
        do = do.contiguous()
        delta = (o.float() * do.float()).sum(-1)
        dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        _bwd_dq[(triton.cdiv(T, 32), B * H)](q, k, v, do, lse, delta, dq, T, S, D**-0.5, D=D, BM=32, BN=32)
        _bwd_dkv[(triton.cdiv(S, 32), B * H)](q, k, v, do, lse, delta, dk, dv, T, S, D**-0.5, D=D, BM=32, BN=32)
        return dq, dk, dv


def attention(q, k, v):
    return Attention.apply(q, k, v)
