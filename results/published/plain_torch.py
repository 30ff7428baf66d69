#!/usr/bin/env python3
"""Times a few of torch's operators on a GPU without triad, to compare with its cold medians of torch/eager:
calls over sets of inputs that together exceed the L2 cache several times, captured in a CUDA graph of at
least 0.5 ms, replayed in turns of 2 ms with a rest between, timed by events.

    plain_torch.py [FILE]

One line for each operator: the median of all samples, in us a call, and how far the middle half of them
spreads. FILE gets the same as JSON, in ns.
"""

import json
import math
import statistics
import sys
import time

import torch

GRAPH_NS, TURN_NS, TURNS, REST_S = 500_000, 2e6, 40, 0.005


def capture(call, sets):
    """A graph that calls every set at least once, and its number of calls."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for i in range(3):
            call(i % sets)
    torch.cuda.synchronize()

    def captured(calls):
        graph = torch.cuda.CUDAGraph()
        kept = [None] * sets  # so that every set has an output of its own
        with torch.cuda.graph(graph, stream=stream):
            for i in range(calls):
                kept[i % sets] = call(i % sets)
        return graph, kept

    graph, kept = captured(sets)
    replay(graph, 1)
    turns = math.ceil(GRAPH_NS / replay(graph, 2)[1])
    if turns > 1:
        graph, kept = captured(sets * turns)
    return graph, kept, sets * turns


def replay(graph, n):
    """ns of each of n replays."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(n + 1)]
    events[0].record()
    for event in events[1:]:
        graph.replay()
        event.record()
    torch.cuda.synchronize()
    return [a.elapsed_time(b) * 1e6 for a, b in zip(events, events[1:])]


def rotation(given, returned):
    """As many sets as triad takes for so many bytes of inputs and outputs."""
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    return max(2, -(-2 * l2 // given), -(-2 * l2 // returned), min(8, 16 * l2 // (given + returned)))


def measure(call, sets):
    """Samples in us a call; the first replay of each turn is left out."""
    graph, _kept, calls = capture(call, sets)
    took = replay(graph, 2)[1]
    samples = []
    for _ in range(TURNS):
        time.sleep(REST_S)
        samples += replay(graph, 1 + min(20, max(1, int(TURN_NS / took))))[1:]
    return [ns / calls / 1e3 for ns in samples]


def normal(sets, *shapes):
    """Sets of tensors."""
    return [[torch.randn(shape, device="cuda").to(torch.bfloat16) for shape in shapes] for _ in range(sets)]


def main():
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    began = time.perf_counter()
    while time.perf_counter() - began < 0.5:  # the card leaves its idle clocks
        a @ a
        torch.cuda.synchronize()
    del a
    calls = (
        ("softmax", ((8192, 4096),), lambda x: torch.softmax(x, -1)),
        ("layernorm", ((8192, 4096), (4096,), (4096,)),
         lambda x, weight, bias: torch.native_layer_norm(x, (4096,), weight, bias, 1e-5)),
        ("swiglu", ((8192, 14336), (8192, 14336)), lambda gate, up: torch.nn.functional.silu(gate) * up),
    )
    found = []
    with torch.no_grad():
        for name, shapes, call in calls:
            rows, cols = shapes[0]
            sets = rotation(2 * sum(math.prod(shape) for shape in shapes), 2 * rows * cols)
            inputs = normal(sets, *shapes)
            samples = measure(lambda i: call(*inputs[i]), sets)
            low, _, high = statistics.quantiles(samples, n=4)
            print(f"{name} forward bf16 {rows} x {cols}: {statistics.median(samples):.2f} us a call, middle "
                  f"half {low:.2f} to {high:.2f}, {sets} sets, {len(samples)} samples")
            found.append({"op": name, "pass": "forward", "dtype": "bf16",
                          "dims": {"rows": rows, "cols": cols},
                          "median_ns": statistics.median(samples) * 1000,
                          "low_quartile_ns": low * 1000, "high_quartile_ns": high * 1000, "sets": sets,
                          "samples": len(samples)})
            del inputs
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w", encoding="utf-8") as out:
            json.dump(found, out, indent=1)


if __name__ == "__main__":
    main()
