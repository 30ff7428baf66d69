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

FAMILIES = (("cuda", "best CUDA"), ("triton", "best Triton"), ("torch/eager", "torch eager"), ("torch/compile", "torch.compile"), ("vendor", "vendor's best"))
VENDOR = ("torch/cudnn", "torch/flash", "torch/efficient", "torch/sdpa", "torch/scaled_mm", "torch/native")
GOOD = {"PASS", "WARN"}
NEUTRAL = {"DIFFERENT_CONTRACT", "EMPTY_OK", "NO_POWER", "UNSUPPORTED", "MISSING", "SKIPPED", "UNAVAILABLE", "INTERRUPTED", "UNSTABLE"}


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def family(impl):
    if impl.startswith(VENDOR):
        return "vendor"
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


def times(records):
    """The fastest of each family on each point and regime; the latest timing of an implementation counts."""
    points = collections.defaultdict(dict)
    for r in records:
        for t in timings(r):
            if t["status"] == "PASS":
                points[r["op"], r["pass"], r["dtype"], shape(r), t["regime"]][r["impl"]] = t
    yield "| operator, pass, dtype | point | regime | " + " | ".join(title for _, title in FAMILIES) + " | share of the roofline (CUDA) | clock, MHz |"
    yield "|---|---|---|" + "--:|" * (len(FAMILIES) + 2)
    for (op, direction, dtype, where, regime), by_impl in sorted(points.items()):
        best = {}
        for impl, t in by_impl.items():
            f = family(impl)
            if f not in best or t["median_ns"] < best[f][1]["median_ns"]:
                best[f] = impl, t
        cells = []
        for f, _ in FAMILIES:
            name = "" if f not in best or f.startswith("torch/") else f" ({best[f][0].split('/')[1]})"
            cells.append(duration(best[f][1]["median_ns"]) + name if f in best else "")
        cuda = best.get("cuda", ("", {}))[1]
        share = f"{cuda['roofline'] * 100:.0f} %" if cuda.get("roofline") else ""
        clocks = [t["clock_mhz"] for t in by_impl.values() if t.get("clock_mhz")]
        seen = f"{min(clocks):.0f}" + (f" to {max(clocks):.0f}" if max(clocks) - min(clocks) >= 1 else "") if clocks else ""
        yield f"| {op}, {direction}, {dtype} | {where} | {regime} | " + " | ".join(cells) + f" | {share} | {seen} |"


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
