# flash_attention/backward: the fused backward, tile by tile.
import torch
import triton
import triton.language as tl


@triton.jit
def tile(ptr, head, rows, dim, r, d):
    """Rows r of a head's matrix, 0 outside."""
    places = head * rows * dim + r[:, None] * dim + d[None, :]
    return tl.load(ptr + places, mask=(r[:, None] < rows) & (d[None, :] < dim), other=0.0)


@triton.jit
def gradient_of_scores(q, k, v, o, grad_o, lse, i, j, seq_q, seq_kv, scale, causal):
    """Probabilities and scaled gradient of the scores, for queries i and keys j."""
    p = tl.dot(q, tl.trans(k)) * 0.0
    return p, p  # TODO


@triton.jit
def for_queries(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, grad_o_ptr, grad_q_ptr, seq_q, seq_kv, dim, group,
                scale, causal, BLOCK: tl.constexpr, DIM: tl.constexpr):
    head = tl.program_id(1).to(tl.int64)
    kv_head = head // group
    i, d = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, DIM)
    q, o = tile(q_ptr, head, seq_q, dim, i, d), tile(o_ptr, head, seq_q, dim, i, d)
    grad_o = tile(grad_o_ptr, head, seq_q, dim, i, d)
    lse = tl.load(lse_ptr + head * seq_q + i, mask=i < seq_q, other=0.0)
    grad_q = tl.zeros([BLOCK, DIM], dtype=tl.float32)
    for start in range(0, seq_kv, BLOCK):
        j = start + tl.arange(0, BLOCK)
        k, v = tile(k_ptr, kv_head, seq_kv, dim, j, d), tile(v_ptr, kv_head, seq_kv, dim, j, d)
        p, ds = gradient_of_scores(q, k, v, o, grad_o, lse, i, j, seq_q, seq_kv, scale, causal)
        grad_q += tl.dot(ds, k, input_precision="ieee")
    places = head * seq_q * dim + i[:, None] * dim + d[None, :]
    tl.store(grad_q_ptr + places, grad_q, mask=(i[:, None] < seq_q) & (d[None, :] < dim))


@triton.jit
def for_keys(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, grad_o_ptr, grad_k_ptr, grad_v_ptr, seq_q, seq_kv, dim,
             group, scale, causal, BLOCK: tl.constexpr, DIM: tl.constexpr):
    kv_head = tl.program_id(1).to(tl.int64)
    j, d = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, DIM)
    k, v = tile(k_ptr, kv_head, seq_kv, dim, j, d), tile(v_ptr, kv_head, seq_kv, dim, j, d)
    grad_k = tl.zeros([BLOCK, DIM], dtype=tl.float32)
    grad_v = tl.zeros([BLOCK, DIM], dtype=tl.float32)
    # TODO: the same over tiles of queries, of all query heads that share this head
    places = kv_head * seq_kv * dim + j[:, None] * dim + d[None, :]
    inside = (j[:, None] < seq_kv) & (d[None, :] < dim)
    tl.store(grad_k_ptr + places, grad_k, mask=inside)
    tl.store(grad_v_ptr + places, grad_v, mask=inside)


# triad: flash_attention(q=q, k=k, v=v, o=o, lse=lse, grad_o=do, causal=causal, pass=backward, dtype=fp32)
def attention_backward(q, k, v, o, lse, do, causal: bool):
    q, k, v, o, lse, do = (t.contiguous() for t in (q, k, v, o, lse, do))
    batch, heads, seq_q, dim = q.shape
    kv_heads, seq_kv = k.shape[1], k.shape[2]
    grad_q, grad_k, grad_v = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    sizes = (seq_q, seq_kv, dim, heads // kv_heads, dim**-0.5, int(causal))
    width = max(16, triton.next_power_of_2(dim))
    grid_q = (triton.cdiv(seq_q, 32), batch * heads)
    grid_kv = (triton.cdiv(seq_kv, 32), batch * kv_heads)
    for_queries[grid_q](q, k, v, o, lse, do, grad_q, *sizes, BLOCK=32, DIM=width)
    for_keys[grid_kv](q, k, v, o, lse, do, grad_k, grad_v, *sizes, BLOCK=32, DIM=width)
    return grad_q, grad_k, grad_v
