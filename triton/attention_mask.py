"""attention_mask: mask[b,i,j] = 0 where i < lengths_q[b], j < lengths_kv[b] and, if causal,
j <= i + lengths_kv[b] - lengths_q[b]; -inf elsewhere

Layout   lengths_q, lengths_kv: [batch] int32 with any stride; mask: [batch, seq_q, seq_kv] in fp32, fp16 or
         bf16, contiguous.
Limits   Without elements nothing is launched.
Source   Vaswani et al. 2017, arXiv:1706.03762, section 3.2.3; Dao 2023, arXiv:2307.08691
  triton/block   a program takes a run of one row
  torch/eager    comparisons of two ranges with the lengths
  torch/compile  the same through Inductor
"""

import torch

from elementwise import BLOCK
from implementation import Implementation, beside_peers, ceildiv, compile_for, next_power_of_2, tl, triton

DIFFERENTIABLE = ()  # of the inputs of reference: integers have no gradients
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


@triton.jit
def _attention_mask_kernel(lengths_q_ptr, lengths_kv_ptr, mask_ptr, stride_q, stride_kv, seq_q, seq_kv,
                           CAUSAL: tl.constexpr, BLOCK: tl.constexpr):
    row, j = tl.program_id(0).to(tl.int64), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    b, i = row // seq_q, row % seq_q
    queries, keys = tl.load(lengths_q_ptr + b * stride_q), tl.load(lengths_kv_ptr + b * stride_kv)
    seen = (i < queries) & (j < keys)
    if CAUSAL:
        seen = seen & (j <= i + keys - queries)
    tl.store(mask_ptr + row * seq_kv + j, tl.where(seen, 0.0, float("-inf")), mask=j < seq_kv)


def forward(lengths_q, lengths_kv, *, seq_q, seq_kv, causal, out):
    """lengths_q, lengths_kv [batch] int32 -> mask [batch, seq_q, seq_kv] of dtype out."""
    mask = torch.empty((len(lengths_q), seq_q, seq_kv), dtype=DTYPES[out], device=lengths_q.device)
    if mask.numel():
        block = min(BLOCK, next_power_of_2(seq_kv))
        _attention_mask_kernel[len(lengths_q) * seq_q, ceildiv(seq_kv, block)](
            lengths_q, lengths_kv, mask, lengths_q.stride(0), lengths_kv.stride(0), seq_q, seq_kv,
            CAUSAL=causal, BLOCK=block)
    return mask


def reference(lengths_q, lengths_kv, *, seq_q, seq_kv, causal, out):
    """The formula in torch."""
    queries, keys = lengths_q[:, None, None], lengths_kv[:, None, None]
    i = torch.arange(seq_q, device=queries.device)[:, None]
    j = torch.arange(seq_kv, device=queries.device)
    seen = (i < queries) & (j < keys)
    if causal:
        seen &= j <= i + keys - queries
    mask = torch.zeros(seen.shape, dtype=DTYPES[out], device=queries.device)
    return mask.masked_fill_(~seen, float("-inf"))


_NAMES = {"outputs": ("mask",), "dtypes": ("int32",), "contract": "exact"}

IMPLEMENTATIONS = [
    Implementation("triton/block", forward, **_NAMES),
    Implementation("torch/eager", reference, **_NAMES),
    *beside_peers(Implementation("torch/compile", compile_for(reference), compiled=True, **_NAMES)),
]
