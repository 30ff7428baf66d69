"""A training step of the model of triad.torch.model in bf16 on the GPU that is here, by torch's operators and
by triad's: in eager mode, by torch.compile, by torch.compile with CUDA graphs (mode="reduce-overhead"), which
takes the host out of the step on both sides, and, where it is named, with combined kernels (combo_kernels).

    python results/published/model_step.py [--modes eager compiled graphs combined] [--rounds 6] [--steps 15]
        [--no-profile]

All arms live in one process and are timed in turn, round by round: the median of a round's steps between
events, then the median of the rounds; and of the host, until it has queued one step on a GPU that waits.
Behind the times: how many kernels a compiled step runs and how long they take together, and where the host's
time goes (torch.profiler, self CPU). Most of the time it takes is spent to compile.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from triad.torch import model

IMPLS = {"layernorm": "cuda/vec", "rmsnorm": "cuda/vec", "rope": "cuda/vec",
         "flash_attention": "cuda/sm90_tma", "swiglu": "cuda/vec", "linear_cross_entropy": "cuda/cublas"}
MODES: dict[str, dict[str, Any] | None] = {
    "eager": None, "compiled": {}, "graphs": {"mode": "reduce-overhead"},
    "combined": {"options": {"combo_kernels": True}}}
WARM = 6


def arm(operators: model.Operators, how: dict[str, Any] | None) -> Callable[[], torch.Tensor]:
    """One step of a model of its own."""
    data = model.batch(model.LARGE, "cuda")
    made = model.Model(model.LARGE, operators, torch.bfloat16, "cuda")
    loss_of = made if how is None else torch.compile(made, fullgraph=True, **how)
    weights = list(made.parameters())

    def step() -> torch.Tensor:
        torch.compiler.cudagraph_mark_step_begin()
        return model.step(loss_of, weights, data)
    for _ in range(WARM):
        loss = step()
    if not torch.isfinite(loss).item():
        raise SystemExit("the loss is not finite: nothing is timed")
    return step


def one_round(step: Callable[[], torch.Tensor], steps: int) -> tuple[float, float]:
    """Milliseconds of a step on the GPU, and of the host until it has queued one."""
    events, host = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)], []
    torch.cuda.synchronize()
    events[0].record()
    for e in events[1:]:
        step()
        e.record()
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step()
        host.append((time.perf_counter() - begin) * 1e3)
    torch.cuda.synchronize()
    on_gpu = statistics.median(a.elapsed_time(b) for a, b in zip(events, events[1:]))
    return on_gpu, statistics.median(host)


def print_profile(name: str, step: Callable[[], torch.Tensor], steps: int = 5) -> None:
    """The kernels of a step, and the host's time by operator."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as found:
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
    kernels = [e for e in found.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    took = sum(e.device_time_total for e in kernels) / steps / 1e3
    print(f"\n== {name}: {took:.3f} ms of kernels and copies in {len(kernels) / steps:.0f}")
    for sort in ("self_cuda_time_total", "self_cpu_time_total"):
        print(found.key_averages().table(sort_by=sort, row_limit=30, max_name_column_width=70))


def main() -> None:
    """Prints the times of all arms, the ratios, and the profiles."""
    parser = argparse.ArgumentParser(description="a training step of triad.torch.model")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=["eager", "compiled", "graphs"])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--no-profile", action="store_true")
    asked = parser.parse_args()
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}; {IMPLS}")
    steps = {}
    for mode, how in ((m, MODES[m]) for m in asked.modes):
        for who, operators in (("torch", model.Torchs()), ("triad", model.Ours(impls=IMPLS))):
            begin = time.perf_counter()
            try:
                steps[who, mode] = arm(operators, how)
            except Exception as e:
                print(f"{who}, {mode}: {type(e).__name__}: {str(e)[:300]}", flush=True)
            else:
                print(f"{who}, {mode}: ready in {time.perf_counter() - begin:.1f} s", flush=True)
    times: dict[tuple[str, str], list[tuple[float, float]]] = {key: [] for key in steps}
    for _ in range(asked.rounds):
        for key, step in steps.items():
            times[key].append(one_round(step, asked.steps))
    middle = {key: [statistics.median(column) for column in zip(*rounds)] for key, rounds in times.items()}
    print(f"{'':30}{'GPU ms':>9}{'host ms':>9}  GPU ms of the rounds")
    for (who, mode), (on_gpu, host) in middle.items():
        rounds = " ".join(f"{t:.2f}" for t, _ in times[who, mode])
        print(f"{who + ', ' + mode:30}{on_gpu:9.3f}{host:9.3f}  {rounds}")
    for ours in asked.modes:
        for theirs in asked.modes:
            if ("triad", ours) in middle and ("torch", theirs) in middle:
                ratio = middle["torch", theirs][0] / middle["triad", ours][0]
                print(f"torch, {theirs} / triad, {ours}: {ratio:.3f}")
    if not asked.no_profile:
        for who in ("torch", "triad"):
            if (who, "compiled") in steps:
                print_profile(f"{who}, compiled", steps[who, "compiled"])


if __name__ == "__main__":
    main()
