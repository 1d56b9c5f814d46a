#!/usr/bin/env python3
"""Where traffic lands: the published table of the case, the audit's figures, and real I/O of Assay's engine by its own trace.

usage: qualify_audit.py PROGRAM DIRECTORY [RUNTIME]

In DIRECTORY a sparse file of 16 GiB is made and removed. For each workload the program audits the file, runs it with a trace,
and audits the trace. Written are rows of a Markdown table: the share of the busiest of eight cores, in per cent.
"""

import json
import os
import subprocess
import sys
import tempfile

def hit_area(size):
    return f'random = "hit-area", read_percent = 75, write_percent = 75, size = "{size}"'


HOTBAND = 'random = "hotband", low = "0", high = "16GiB"'

# Workload, its pattern, published or measured share of the busiest core in per cent, and its multiple of the mean.
ROWS = [
    ("rhpct=75, hitarea 1m", hit_area("1m"), 78.1, 6.25),
    ("rhpct=75, hitarea 2m", hit_area("2m"), 40.6, 3.25),
    ("rhpct=75, hitarea 4m", hit_area("4m"), 21.9, 1.75),
    ("rhpct=75, hitarea 8m", hit_area("8m"), 12.5, 1.00),
    ("rhpct=75, hitarea 12m", hit_area("12m"), 15.6, 1.25),
    ("rhpct=75, hitarea 16m", hit_area("16m"), 12.5, 1.00),
    ("hotband=(0,100), reads", HOTBAND, 39.8, 3.19),
    ("hotband, units repaired", HOTBAND + ", corrected = true", 12.6, 1.01),
    ("uniform random", 'random = "uniform", once_per_pass = false', 12.5, 1.00),
]


def plan(pattern, target):
    return f"""assay = 1
name = "audit"
[[target]]
name = "sd1"
path = "{target}"
size = "16GiB"
[[job]]
name = "wd1"
op = "read"
pattern = {{ {pattern} }}
block_size = "4k"
outstanding = 32
caching = "direct"
runtime = "10s"
"""


def busiest(program, words):
    """Share of the busiest core in per cent, and its multiple of the mean."""
    text = subprocess.run([program, "audit", "--json", "--quiet", *words], check=True, capture_output=True, text=True).stdout
    job = json.loads(text)["jobs"][0]
    return max(job["cores"]) * 100, job["max_over_mean"]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, runtime = os.path.abspath(sys.argv[1]), sys.argv[3] if len(sys.argv) > 3 else "2s"
    with tempfile.TemporaryDirectory(dir=sys.argv[2]) as place:
        os.chdir(place)
        os.environ["ASSAY_RUNS"] = os.path.join(place, "runs")
        target = os.path.join(place, "target")
        with open(target, "wb") as file:
            file.truncate(16 << 30)
        print("| workload | published | x mean | audit | x mean | real I/O | x mean | I/Os |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|")
        for name, pattern, share, over_mean in ROWS:
            with open("workload.toml", "w", encoding="utf-8") as file:
                file.write(plan(pattern, target))
            audit = busiest(program, ["workload.toml"])
            run = [program, "run", "workload.toml", "--quiet", "--runtime", runtime, "--trace", "trace.csv"]
            subprocess.run(run, check=True, capture_output=True)
            real = busiest(program, ["--trace", "trace.csv"])
            with open("trace.csv", encoding="utf-8") as file:
                count = sum(1 for _ in file) - 1
            cells = [f"{value:.1f} % | {ratio:.2f}" for value, ratio in ((share, over_mean), audit, real)]
            print(f"| {name} | {' | '.join(cells)} | {count:,} |", flush=True)


if __name__ == "__main__":
    main()
