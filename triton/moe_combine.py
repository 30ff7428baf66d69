"""moe_combine: y[r,t] = 0 + the sum of rows[q,i], q rising, over the ranks q that have token t of rank r, i
its row there
backward: grad_rows[q,i] = grad_y of the token in that row, 0 past the rows that rank q has

Layout   rows, grad_rows: [ranks, ranks * tokens, dim]; choice: [ranks, tokens, top] int64; y, grad_y: [ranks,
         tokens, dim]; any strides; fp32, fp16, bf16, added in fp32 and rounded once. A rank has the tokens
         that chose one of its experts, each once, by the rank that they come from and then by token.
Limits   tokens = 0 launches nothing.
Source   DeepSeek-AI 2025, DeepEP, csrc/kernels/intranode.cu
  triton/tile  a program a rank goes through the tokens; then a tile of tokens a program
  torch/eager  the formula in torch, a rank after the other
  torch/compile the same through Inductor
  torch/all_to_all half of the ranks a GPU: rows come by torch.distributed (NCCL; gloo on a CPU), then sums
"""

from all_to_all import REMARK, Halves, Routes
from expert_parallel import copies, plain_copies, plain_routes, plain_sums, routes, sums
from implementation import Implementation, beside_peers, compile_for

DIFFERENTIABLE = (0,)  # of the inputs of reference


def forward(rows, choice, *, experts):
    """rows [ranks, ranks * tokens, dim], choice [ranks, tokens, top] -> y [ranks, tokens, dim]."""
    return sums(rows, routes(choice, experts)[1])


def backward(grad_y, choice, *, experts):
    """grad_y [ranks, tokens, dim], choice [ranks, tokens, top] -> grad_rows [ranks, ranks * tokens, dim]."""
    return copies(grad_y, routes(choice, experts)[0])


def reference(rows, choice, *, experts):
    """The formula in torch; differentiable."""
    return plain_sums(rows, plain_routes(choice, experts)[1])


def reference_backward(grad_y, choice, *, experts):
    """The backward formula in torch."""
    return plain_copies(grad_y, plain_routes(choice, experts)[0])


def of_member(member, rows, choice, *, ranks, experts):
    """What a member does of the ranks that it has."""
    return (Routes(member, choice, ranks, experts).sums(rows),)


def backward_of_member(member, grad_y, choice, *, ranks, experts):
    """Its part of the backward."""
    return (Routes(member, choice, ranks, experts).copies(grad_y),)


_NAMES = {"outputs": ("y",), "gradients": ("grad_rows",), "contract": "exact"}

IMPLEMENTATIONS = [
    Implementation("triton/tile", forward, backward, **_NAMES),
    Implementation("torch/eager", reference, reference_backward, **_NAMES),
    *beside_peers(Implementation("torch/compile", compile_for(reference), compile_for(reference_backward),
                                 compiled=True, **_NAMES)),
    Implementation("torch/all_to_all", Halves(of_member), Halves(backward_of_member), devices=2,
                   remark=REMARK, **_NAMES),
]
