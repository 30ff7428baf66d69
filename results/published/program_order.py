#!/usr/bin/env python3
"""Counts what the order of a product's programs does to the L2 cache: triton/tiled of gemm, bf16, whose
programs walk GROUP rows of tiles together, under ncu.

    program_order.py [FILE]

One line for each GROUP: the share of L2's sectors that were found there, the bytes read from memory, and the
time of the kernel, whose clocks are not locked. FILE gets the same as JSON. Run from the root of the sources;
needs ncu, and the right to read the GPU's counters.
"""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

SIZE, GROUPS = 8192, (1, 2, 4, 8, 16, 64)
METRICS = {"lts__t_sector_hit_rate.pct": "l2_hit_percent", "dram__bytes_read.sum": "dram_read_bytes",
           "gpu__time_duration.sum": "time_ns"}
ROOT = Path(__file__).resolve().parents[2]


def multiply():
    """Runs under ncu: one product for each GROUP, after one that compiles the kernel."""
    import torch
    sys.path[:0] = [str(ROOT / "pybridge/worker"), str(ROOT / "triton")]
    import bridge_folders  # noqa: F401
    import gemm
    a, b = (torch.randn((1, SIZE, SIZE), device="cuda").to(torch.bfloat16) for _ in range(2))
    for group in GROUPS:
        gemm.GROUP = group
        gemm._product(a, b, None, 1.0, 0.0, "ieee")
        torch.cuda.synchronize()


def main():
    counted = subprocess.run(
        ["ncu", "--csv", "--print-units", "base", "--metrics", ",".join(METRICS), "--kernel-name",
         "_gemm_tiled_kernel", "--clock-control", "none", sys.executable, __file__, "--multiply"],
        stdout=subprocess.PIPE, text=True, cwd=ROOT, check=True).stdout
    rows = csv.DictReader(io.StringIO(counted[counted.index('"ID"'):]))
    found = {}
    for row in rows:
        launch = found.setdefault(int(row["ID"]), {})
        launch[METRICS[row["Metric Name"]]] = float(row["Metric Value"].replace(",", ""))
    if len(found) != len(GROUPS):
        sys.exit(f"program_order.py: ncu saw {len(found)} launches, want {len(GROUPS)}:\n{counted}")
    result = [{"op": "gemm", "impl": "triton/tiled", "dtype": "bf16", "size": SIZE, "group": group,
               **found[i]} for group, i in zip(GROUPS, sorted(found))]
    for row in result:
        print(f"GROUP {row['group']}: {row['l2_hit_percent']:.1f} % of sectors found in L2, "
              f"{row['dram_read_bytes'] / 1e9:.2f} GB read, {row['time_ns'] / 1e6:.2f} ms")
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    multiply() if sys.argv[1:] == ["--multiply"] else main()
