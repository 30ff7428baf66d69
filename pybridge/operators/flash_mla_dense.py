"""FlashMLA's decoding over a dense cache, a peer: its kernel for Hopper as sgl-flash-mla ships it, under the
names of mla_decode.

Its own schedule of a call, get_mla_metadata's, is made anew in each call, as lengths may differ.
"""

import math

import torch

MODULE = "flash_mla"
DTYPES = ("fp16", "bf16")
CONSTRAINT = "head_dim 576, head_dim_v 512, capability 9.0, no empty tensor"


def forward(q, cache, block_table, lengths, *, causal, scale, empty_lse, least_length, head_dim_v):
    """As mla_decode's forward. Its lse of a query that sees nothing is inf."""
    from flash_mla import flash_mla_with_kvcache, get_mla_metadata
    q, cache, block_table, lengths = (x.contiguous() for x in (q, cache, block_table, lengths))
    o, lse = flash_mla_with_kvcache(
        q, cache[:, :, None], block_table, lengths, head_dim_v, get_mla_metadata()[0], softmax_scale=scale,
        causal=causal, use_legacy=True)
    lse = lse.contiguous()
    return o, lse if empty_lse == "inf" else lse.masked_fill_(lse == math.inf, -math.inf)


def accepts(direction, q, cache, block_table, *rest, head_dim_v, **attributes):
    if q.shape[3] != 576 or head_dim_v != 512:
        return f"mla_decode/flashmla/kernel: head_dim is {q.shape[3]} and head_dim_v {head_dim_v}"
    if q.device.type != "cuda" or torch.cuda.get_device_capability(q.device) != (9, 0):
        return "mla_decode/flashmla/kernel: its dense kernel is for compute capability 9.0"
    return None if q.numel() and block_table.numel() else "mla_decode/flashmla/kernel: an empty tensor"
