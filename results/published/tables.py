#!/usr/bin/env python3
"""Makes the tables of README.md from an export of `triad results export`, and the export fit to publish.

    tables.py session.jsonl                  prints the tables as Markdown
    tables.py --publish session.jsonl NAME   writes NAME.jsonl: the same objects, in which the kernels of a library (`build.kernels`) stand in the
                                             first record alone that used it, and folders of this machine are written $FOLDER

Only Python's standard library is needed.
"""

import collections
import json
import re
import sys

FAMILIES = (("cuda", "best CUDA"), ("triton", "best Triton"), ("torch/eager", "torch eager"), ("torch/compile", "torch.compile"), ("vendor", "vendor's best"), ("peer", "best peer"))
VENDOR = ("torch/cudnn", "torch/flash", "torch/efficient", "torch/sdpa", "torch/scaled_mm", "torch/native")
PEERS = ("liger/", "quack/", "fa4/")
PAIR = "forward+backward"
GOOD = {"PASS", "WARN"}
NEUTRAL = {"DIFFERENT_CONTRACT", "EMPTY_OK", "NO_POWER", "UNSUPPORTED", "MISSING", "SKIPPED", "UNAVAILABLE", "INTERRUPTED", "UNSTABLE", "KNOWN"}


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def family(impl):
    if impl.startswith(VENDOR):
        return "vendor"
    if impl.startswith(PEERS):
        return "peer"
    return impl if impl.startswith("torch/") else impl.split("/")[0]


def timings(record):
    t = record.get("timing")
    return [] if not t else t if isinstance(t, list) else [t]


def duration(ns):
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= scale:
            return f"{ns / scale:.4g} {unit}"
    return f"{ns:.4g} ns"


def shape(record):
    words = [f"{k}={v}" for k, v in record["dims"].items()]
    return " ".join(words + [f"{k}={v}" for k, v in record["attributes"].items() if k in ("scaling", "causal", "out")])


def verdicts(records):
    """Records of each operator and pass by weight."""
    counts = collections.defaultdict(collections.Counter)
    for r in records:
        weight = "good" if r["status"] in GOOD else "neutral" if r["status"] in NEUTRAL else "bad"
        counts[r["op"], r["pass"]][weight] += 1
    yield "| operator, pass | good | neutral | bad |"
    yield "|---|--:|--:|--:|"
    for (op, direction), n in sorted(counts.items()):
        yield f"| {op}, {direction} | {n['good']} | {n['neutral']} | {n['bad']} |"
    total = sum(counts.values(), collections.Counter())
    yield f"| together | {total['good']} | {total['neutral']} | {total['bad']} |"


def fastest(by_impl):
    """The implementation of each family whose timing is the shortest, and that timing."""
    best = {}
    for impl, t in by_impl.items():
        f = family(impl)
        if f not in best or t["median_ns"] < best[f][1]["median_ns"]:
            best[f] = impl, t
    return best


def cell(f, best):
    """A time and whose it is; * where the host's time is in it."""
    if f not in best:
        return ""
    impl, t = best[f]
    name = "" if f.startswith("torch/") else f" ({impl if f == 'peer' else impl.split('/')[1]})"
    return duration(t["median_ns"]) + ("*" if t.get("mode") == "events" else "") + name


def both(forwards, backwards, pairs):
    """Of each family a forward with its backward: the pair where it was timed as one, else the sum of the two."""
    together = {}
    for f in pairs.keys() | (forwards.keys() & backwards.keys()):
        if f in pairs and f not in backwards:
            together[f] = pairs[f]
        elif f in forwards:
            one, other = forwards[f], backwards[f]
            name = one[0] if one[0] == other[0] else f"{one[0]} + {other[0].split('/')[1]}"
            mode = "events" if "events" in (one[1].get("mode"), other[1].get("mode")) else "graph"
            together[f] = name, {"median_ns": one[1]["median_ns"] + other[1]["median_ns"], "mode": mode}
    return together


def times(records):
    """The fastest of each family on each point and regime; the latest timing of an implementation counts. A backward that was timed with its
    forward stands in a row of its own, beside the others' sums of a forward and a backward."""
    points = collections.defaultdict(dict)
    for r in records:
        for t in timings(r):
            if t["status"] == "PASS":
                direction = PAIR if t.get("backward") == PAIR else r["pass"]
                points[r["op"], direction, r["dtype"], shape(r), t["regime"]][r["impl"]] = t
    yield "| operator, pass, dtype | point | regime | " + " | ".join(title for _, title in FAMILIES) + " | share of the roofline (CUDA) | clock, MHz |"
    yield "|---|---|---|" + "--:|" * (len(FAMILIES) + 2)
    for (op, direction, dtype, where, regime), by_impl in sorted(points.items()):
        best = fastest(by_impl)
        if direction == PAIR:
            forwards, backwards = (fastest(points.get((op, d, dtype, where, regime), {})) for d in ("forward", "backward"))
            best = both(forwards, backwards, best)
        cells = [cell(f, best) for f, _ in FAMILIES]
        cuda = best.get("cuda", ("", {}))[1]
        share = f"{cuda['roofline'] * 100:.0f} %" if cuda.get("roofline") else ""
        clocks = [t["clock_mhz"] for t in by_impl.values() if t.get("clock_mhz")]
        seen = f"{min(clocks):.0f}" + (f" to {max(clocks):.0f}" if max(clocks) - min(clocks) >= 1 else "") if clocks else ""
        yield f"| {op}, {direction}, {dtype} | {where} | {regime} | " + " | ".join(cells) + f" | {share} | {seen} |"
    yield ""
    yield from legend(records)


def legend(records):
    """What the times of backwards start from, and which include the host's time."""
    kinds = collections.defaultdict(set)
    for r in records:
        for t in timings(r):
            if t.get("backward"):
                kinds[t["backward"]].add(r["impl"])
            if t.get("mode") == "events":
                kinds["events"].add(r["impl"])
    for kind, words in (("retained graph", "A backward of {} is timed alone: torch's autograd goes back through a graph that it has kept of a forward."),
                        (PAIR, "{}: a forward and its backward, timed together; beside it the sums of the others' two."),
                        ("events", "* of {}: timed between events, the host's time included, where no graph could capture the calls.")):
        if kinds[kind]:
            yield words.format(", ".join(sorted(kinds[kind])))


def publish(records, name):
    told = set()
    with open(name + ".jsonl", "w", encoding="utf-8") as out:
        for r in records:
            if r.get("build"):
                key = r["op"], r["backend"], r["source"]
                if key in told:
                    r["build"].pop("kernels", None)
                told.add(key)
            line = json.dumps(r, ensure_ascii=False, separators=(",", ":"))
            out.write(re.sub(r"/(?:root|home|tmp|opt|work)/[^\s\"':,;)]*?(?=/lib/|/kernels/|/python|/triton|/pybridge|[\s\"':,;)])", "$FOLDER", line) + "\n")


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--publish":
        publish(read(sys.argv[2]), sys.argv[3])
        return
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    records = read(sys.argv[1])
    for table in (verdicts, times):
        print("\n".join(table(records)) + "\n")


if __name__ == "__main__":
    main()
