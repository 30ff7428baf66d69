"""Compares a transformer of triad's operators with the same one of torch's: two layers of layernorm, rope,
attention, rmsnorm with the residual added, and swiglu; linear_cross_entropy at the end.

    python -m triad.torch.model                  trains 50 steps, compares the losses with fp64's, and on a
                                                 GPU the times of a step
    python -m triad.torch.model --impl cuda      with triad's CUDA kernels; --impl triton, or none for the
                                                 default of each operator

The criterion: the same training in fp64 gives the true losses. Torch's operators in the dtype miss them by
some distance, also from weights that are moved by one unit roundoff in a random direction. The largest of
these distances over all steps is the effect of rounding on this training. Ours may be FACTOR times as far,
plus one unit roundoff of the loss itself.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F

from triad.database import default_database
from triad.errors import Unavailable, UsageError
from triad.torch import choice
from triad.torch.implementations import gpu
from triad.torch.operators import ops

FACTOR = 4.0
"""The largest permitted ratio of a training's distance to the yardstick. Trainings with the same rounding are
draws of one random distance, and the yardstick is the largest of NUDGES + 1 draws."""
NUDGES = 3
RATE = 0.02


@dataclass(frozen=True)
class Sizes:
    """Sizes of a model and its batch."""

    batch: int = 2
    seq: int = 12
    heads: int = 2
    heads_kv: int = 1
    head_dim: int = 16
    hidden: int = 48
    vocab: int = 13
    layers: int = 2

    @property
    def dim(self) -> int:
        return self.heads * self.head_dim


LARGE = Sizes(batch=8, seq=1024, heads=16, heads_kv=4, head_dim=64, hidden=2816, vocab=8192)


class Ours:
    """triad's operators: all by one implementation or family of them, or each by its own, as impls says."""

    def __init__(self, impl: str | None = None, impls: Mapping[str, str] | None = None):
        self.impl, self.impls = impl, impls or {}

    def of(self, op: str) -> str | None:
        """Returns the implementation with which an operator is called."""
        return self.impls.get(op, self.impl)

    def norm(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return ops.layernorm(x, weight, bias, impl=self.of("layernorm"))

    def add_norm(self, x: torch.Tensor, residual: torch.Tensor,
                 weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the sum x + residual, and its norm."""
        y, h = ops.rmsnorm(x.flatten(0, -2), residual.flatten(0, -2), weight, add=True,
                           impl=self.of("rmsnorm"))
        return h.view_as(x), y.view_as(x)

    def linear(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        """torch's: x [..., k], w [n, k] -> [..., n]."""
        return F.linear(x, w)

    def rope(self, q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor,
             sin: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return ops.rope(q, k, cos, sin, impl=self.of("rope"))

    def attention(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return ops.flash_attention(q, k, v, causal=True, impl=self.of("flash_attention"))

    def swiglu(self, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        return ops.swiglu(gate, up, impl=self.of("swiglu"))

    def loss(self, hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """The mean cross-entropy of tokens [tokens, dim] and classes [classes, dim], in fp32."""
        return ops.linear_cross_entropy(hidden, weight, target, impl=self.of("linear_cross_entropy"))[0]


class Torchs:
    """torch's operators with the same names, in any dtype."""

    def norm(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, x.shape[-1:], weight, bias)

    def add_norm(self, x: torch.Tensor, residual: torch.Tensor,
                 weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = x + residual
        return h, F.rms_norm(h, h.shape[-1:], weight, 1e-6)

    def linear(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.linear(x, w)

    def rope(self, q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor,
             sin: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return _rotated(q, cos, sin), _rotated(k, cos, sin)

    def attention(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    def swiglu(self, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        return F.silu(gate) * up

    def loss(self, hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        logits = F.linear(hidden, weight)
        return F.cross_entropy(logits if logits.dtype == torch.float64 else logits.float(), target)


def _rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    a, b = x.to(cos.dtype).chunk(2, -1)
    cos, sin = cos[:x.shape[1], None, :], sin[:x.shape[1], None, :]
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).to(x.dtype)


Operators = Ours | Torchs


def _uniform(generator: torch.Generator, *shape: int) -> torch.Tensor:
    """Weights of unit gain, in fp32: every model starts from the same numbers."""
    return (torch.rand(*shape, generator=generator) * 2 - 1) * (3 / shape[-1]) ** 0.5


class Model(torch.nn.Module):
    """Weights are kept in fp32 (fp64 in fp64) and used in dtype; the loss is summed in what they are kept
    in."""

    def __init__(self, sizes: Sizes, operators: Operators, dtype: torch.dtype, device: str = "cpu",
                 nudge: int = 0):
        super().__init__()
        self.sizes, self.operators, self.dtype = sizes, operators, dtype
        g, s = torch.Generator().manual_seed(20240229), sizes
        shapes = {"embedding": (s.vocab, s.dim), "head": (s.vocab, s.dim)}
        for i in range(s.layers):
            shapes |= {f"qkv{i}": ((s.heads + 2 * s.heads_kv) * s.head_dim, s.dim), f"out{i}": (s.dim, s.dim),
                       f"gate_up{i}": (2 * s.hidden, s.dim), f"down{i}": (s.dim, s.hidden)}
        weights = {name: _uniform(g, *shape) for name, shape in shapes.items()}
        for name in (*(f"norm{i}a" for i in range(s.layers)), "last"):
            weights |= {name: torch.ones(s.dim), name + "_bias": torch.zeros(s.dim)}
        weights |= {f"norm{i}b": torch.ones(s.dim) for i in range(s.layers)}
        keep = torch.float64 if dtype == torch.float64 else torch.float32
        coin = torch.Generator().manual_seed(nudge)
        step = torch.finfo(dtype).eps / 2 if nudge else 0.0
        self.weights = torch.nn.ParameterDict(
            {n: (w * (1 + step * (2 * torch.randint(2, w.shape, generator=coin) - 1))).to(device, keep)
             for n, w in weights.items()})
        angles = torch.outer(torch.arange(float(s.seq)),
                             10000 ** -(torch.arange(0, s.head_dim, 2) / s.head_dim))
        self.cos, self.sin = (t.to(device, keep) for t in (angles.cos(), angles.sin()))

    def w(self, name: str) -> torch.Tensor:
        """A weight in the dtype that is computed in."""
        return self.weights[name].to(self.dtype)

    def block(self, x: torch.Tensor, i: int) -> torch.Tensor:
        """Attention and the gated layer, each after a norm and added to the residual."""
        s, use = self.sizes, self.operators
        h = use.norm(x, self.w(f"norm{i}a"), self.w(f"norm{i}a_bias"))
        heads = use.linear(h, self.w(f"qkv{i}")).view(*h.shape[:2], -1, s.head_dim)
        q, k, v = heads.split((s.heads, s.heads_kv, s.heads_kv), 2)
        q, k = use.rope(q, k, self.cos, self.sin)
        o = use.attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
        o = use.linear(o.transpose(1, 2).flatten(2), self.w(f"out{i}"))
        x, h = use.add_norm(o, x, self.w(f"norm{i}b"))
        gate, up = use.linear(h, self.w(f"gate_up{i}")).chunk(2, -1)
        return x + use.linear(use.swiglu(gate, up), self.w(f"down{i}"))

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """The mean cross-entropy."""
        x = F.embedding(tokens, self.w("embedding"))
        for i in range(self.sizes.layers):
            x = self.block(x, i)
        x = self.operators.norm(x, self.w("last"), self.w("last_bias"))
        return self.operators.loss(x.flatten(0, 1), self.w("head"), targets.flatten())


def batch(sizes: Sizes, device: str = "cpu") -> tuple[torch.Tensor, torch.Tensor]:
    """Sequences in which every token follows from the one before: something to learn."""
    first = torch.randint(sizes.vocab, (sizes.batch, 1), generator=torch.Generator().manual_seed(7))
    tokens = [first]
    for _ in range(sizes.seq):
        tokens.append((5 * tokens[-1] + 3) % sizes.vocab)
    text = torch.cat(tokens, 1).to(device)
    return text[:, :-1].contiguous(), text[:, 1:].contiguous()


def step(loss_of: Callable[..., torch.Tensor], weights: Sequence[torch.Tensor],
         data: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """One step of gradient descent; gives the loss before it."""
    loss = loss_of(*data)
    loss.backward()
    with torch.no_grad():
        torch._foreach_add_(list(weights), [w.grad for w in weights], alpha=-RATE)
    for w in weights:
        w.grad = None
    return loss.detach()


def losses(sizes: Sizes, operators: Operators, dtype: torch.dtype, steps: int = 50, device: str = "cpu",
           nudge: int = 0) -> list[float]:
    """Trains a new model and gives the loss of every step."""
    model, data = Model(sizes, operators, dtype, device, nudge), batch(sizes, device)
    return [x.item() for x in [step(model, list(model.parameters()), data) for _ in range(steps)]]


@dataclass(frozen=True)
class Agreement:
    """The distance of a training's losses from the true ones, and the distance that rounding alone
    explains."""

    first: float
    last: float
    distance: float
    torchs: float
    yardstick: float
    allowed: float
    losses: list[float] = field(repr=False)

    @property
    def ok(self) -> bool:
        return self.distance <= self.allowed


@functools.cache
def _torchs(sizes: Sizes, dtype: torch.dtype, steps: int, device: str) -> tuple[list[float], list[float]]:
    """Returns the true losses, and the distances of torch's from them, with original and with nudged
    weights."""
    true = losses(sizes, Torchs(), torch.float64, steps, device)
    return true, [_distance(losses(sizes, Torchs(), dtype, steps, device, nudge), true)
                  for nudge in range(NUDGES + 1)]


def _distance(found: Sequence[float], true: Sequence[float]) -> float:
    return max(abs(a - b) if a == a else float("inf") for a, b in zip(found, true, strict=True))


def agreement(sizes: Sizes, operators: Operators, dtype: torch.dtype, steps: int = 50,
              device: str = "cpu") -> Agreement:
    """Trains with triad's operators, and with torch's for the yardstick."""
    true, torchs = _torchs(sizes, dtype, steps, device)
    ours = losses(sizes, operators, dtype, steps, device)
    return Agreement(true[0], true[-1], _distance(ours, true), torchs[0], max(torchs), FACTOR
                     * max(torchs) + torch.finfo(dtype).eps / 2 * max(true), ours)


# ---- times -------------------------------------------------------------------------------------------------


def calls(sizes: Sizes) -> dict[str, tuple[dict[str, int], dict[str, bool]]]:
    """The dims and attributes with which the model calls each operator."""
    s = sizes
    rows = {"rows": s.batch * s.seq, "cols": s.dim}
    return {"layernorm": (rows, {}), "rmsnorm": (rows, {"add": True}),
            "rope": ({"batch": s.batch, "seq": s.seq, "heads_q": s.heads, "heads_k": s.heads_kv,
                      "head_dim": s.head_dim, "max_pos": s.seq}, {"interleaved": False}),
            "flash_attention": ({"batch": s.batch, "heads_q": s.heads, "heads_kv": s.heads_kv, "seq_q": s.seq,
                                 "seq_kv": s.seq, "head_dim": s.head_dim}, {"causal": True}),
            "swiglu": ({"rows": s.batch * s.seq, "cols": s.hidden}, {}),
            "linear_cross_entropy": ({"tokens": s.batch * s.seq, "dim": s.dim, "classes": s.vocab}, {})}


def chosen(sizes: Sizes, impl: str | None, dtype: str, device: str, measured: bool = True) -> dict[str, str]:
    """The implementation that each operator of the model takes in training; without measured, as if no
    database knew of any timing."""
    return {op: getattr(ops, op).choose(impl, device, dtype, tuple(dims.items()), True,
                                        tuple(attributes.items()), measured)
            for op, (dims, attributes) in calls(sizes).items()}


def described(impls: Mapping[str, str], dtype: str, device: str) -> str:
    """Implementations in a line, with that of the backward where it is another."""
    words = []
    for op, name in impls.items():
        rows = getattr(ops, op)._implementations.on(torch.device(device), name)
        follower = choice.behind(rows, name, dtype)
        words.append(f"{op} {name}" + f" and {follower} backward" * (follower != name))
    return ", ".join(words)


def benches(sizes: Sizes, dtype: str) -> list[str]:
    """The commands that time the implementations on the model's own calls, for the database that chooses."""
    def words(values: Mapping[str, int]) -> str:
        return ",".join(f"{n}={v}" for n, v in values.items())
    return [f"triad bench {op} --dtype {dtype} --dims {words(dims)}" + "".join(f" --attr {n}={str(v).lower()}"
        for n, v in attributes.items()) + " --budget 1s"
            for op, (dims, attributes) in calls(sizes).items()]


def step_times(sizes: Sizes, operators: Operators, dtype: torch.dtype, compiled: bool,
               steps: int = 30) -> tuple[float, float]:
    """Milliseconds of a training step on the GPU, the median between events of steps one after another; and
    of the host, until it has queued one step on a GPU that waits for it."""
    model, data = Model(sizes, operators, dtype, "cuda"), batch(sizes, "cuda")
    loss_of = torch.compile(model, fullgraph=True) if compiled else model
    weights = list(model.parameters())
    for _ in range(5):
        step(loss_of, weights, data)
    events, host = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)], []
    torch.cuda.synchronize()
    events[0].record()
    for e in events[1:]:
        step(loss_of, weights, data)
        e.record()
    for _ in range(10):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step(loss_of, weights, data)
        host.append((time.perf_counter() - begin) * 1e3)
    torch.cuda.synchronize()
    return statistics.median(a.elapsed_time(b) for a, b in zip(events, events[1:])), statistics.median(host)


def candidates(impl: str | None, dtype: str, device: str) -> list[tuple[str, Operators]]:
    """Returns the timed candidates besides torch, each with its implementations by name: those of a family,
    or the portable ones, and the fastest if they are known."""
    fastest = chosen(LARGE, impl, dtype, device)
    portable = chosen(LARGE, impl, dtype, device, measured=False)
    made: list[tuple[str, Operators]] = [("triad portable" if impl is None else f"triad {impl}",
                                          Ours(impls=portable))]
    if fastest != portable:
        made.append(("triad fastest" if impl is None else f"triad {impl}, fastest", Ours(impls=fastest)))
    return made


def print_times(name: str, dtype: torch.dtype, impl: str | None, device: str = "cuda") -> None:
    """Prints a line for every candidate, and its implementations."""
    s = LARGE
    print(f"{name}: a step with batch {s.batch}, {s.seq} tokens, {s.layers} layers of {s.dim}, {s.heads} "
          f"heads ({s.heads_kv} for keys), {s.hidden} hidden, on {gpu(torch.device(device))}")
    ours = candidates(impl, name, device)
    for what, operators in ours:
        print(f"  {what}: {described(operators.impls, name, device)}")
    if len(ours) == 1:
        print(f"  {default_database()} knows nothing faster for these sizes on this GPU; what times them:",
              *benches(s, name), sep="\n    ")
    print(f"  {'':34}{'GPU ms':>9}{'host ms':>9}")
    for what, operators in [("torch", Torchs()), *ours]:
        for compiled in (False, True):
            on_gpu, host = step_times(s, operators, dtype, compiled)
            print(f"  {what + (', torch.compile' if compiled else ', eager'):34}{on_gpu:9.2f}{host:9.2f}",
                  flush=True)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m triad.torch.model",
                                     description="a transformer of triad's operators and of torch's: losses, "
                                                 "and on a GPU times")
    parser.add_argument("--impl", help='an implementation family: "cuda", "triton", "torch"; without it, the '
                                       'default of each operator')
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available()
                        else "cpu")
    parser.add_argument("--dtype", choices=("fp32", "bf16"), nargs="+", default=["fp32", "bf16"])
    parser.add_argument("--no-times", action="store_true", help="losses only")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a line for every dtype and candidate; 0 where every loss is within rounding."""
    asked = _parse(arguments)
    if asked.device == "cuda" and not torch.cuda.is_available():
        raise Unavailable("train on a GPU: torch sees none: --device cpu")
    if asked.steps < 1:
        raise UsageError(f"--steps {asked.steps}: want 1 or more")
    good = True
    for name in asked.dtype:
        dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[name]
        a = agreement(Sizes(), Ours(asked.impl), dtype, asked.steps, asked.device)
        good = good and a.ok
        print(f"{name}: loss {a.first:.4f} -> {a.last:.4f} in {asked.steps} steps; farthest from fp64's: "
              f"triad {a.distance:.3g}, torch {a.torchs:.3g}, "
              f"torch from weights a roundoff away at most {a.yardstick:.3g}; allowed {a.allowed:.3g}: "
              f"{'within rounding' if a.ok else 'NOT within rounding'}", flush=True)
        if asked.device == "cpu" or asked.no_times:
            continue
        print_times(name, dtype, asked.impl)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
