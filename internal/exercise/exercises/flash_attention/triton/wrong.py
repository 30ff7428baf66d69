# flash_attention/triton: causal attention, tile by tile.
import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, o_ptr, seq_q, seq_kv, dim, group, scale, causal,
                     BLOCK: tl.constexpr, DIM: tl.constexpr):
    head = tl.program_id(1).to(tl.int64)
    kv_head = head // group
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, DIM)
    of_q = head * seq_q * dim + i[:, None] * dim + d[None, :]
    q_inside = (i[:, None] < seq_q) & (d[None, :] < dim)
    q = tl.load(q_ptr + of_q, mask=q_inside, other=0.0)
    largest = tl.full([BLOCK], -float("inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    o = tl.zeros([BLOCK, DIM], dtype=tl.float32)
    for start in range(0, seq_kv, BLOCK):
        j = start + tl.arange(0, BLOCK)
        of_k = kv_head * seq_kv * dim + j[:, None] * dim + d[None, :]
        k_inside = (j[:, None] < seq_kv) & (d[None, :] < dim)
        k = tl.load(k_ptr + of_k, mask=k_inside, other=0.0)
        v = tl.load(v_ptr + of_k, mask=k_inside, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        sees = (j[None, :] < seq_kv) & ((causal == 0) | (j[None, :] <= i[:, None] + seq_kv - seq_q))
        s = tl.where(sees, s, 0.0)
        new = tl.maximum(largest, tl.max(s, axis=1))
        base = tl.where(new == -float("inf"), 0.0, new)
        p = tl.exp(s - base[:, None])
        rescale = tl.exp(largest - base)
        total = total * rescale + tl.sum(p, axis=1)
        o = o * rescale[:, None] + tl.dot(p, v, input_precision="ieee")
        largest = new
    o = o / tl.where(total == 0, 1.0, total)[:, None]
    tl.store(o_ptr + of_q, o.to(o_ptr.dtype.element_ty), mask=q_inside)


# triad: flash_attention(q=q, k=k, v=v, causal=causal, dtype=fp32)
def attention(q, k, v, causal: bool):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    batch, heads, seq_q, dim = q.shape
    seq_kv, group = k.shape[2], heads // k.shape[1]
    o = torch.empty_like(q)
    grid = (triton.cdiv(seq_q, 32), batch * heads)
    attention_kernel[grid](q, k, v, o, seq_q, seq_kv, dim, group, dim**-0.5, int(causal), BLOCK=32,
                           DIM=max(16, triton.next_power_of_2(dim)))
    return o
