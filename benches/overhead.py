#!/usr/bin/env python3
"""What the checks cost in IOPS: `benches/overhead.py --assay BINARY --dir DIR [--pairs 30] [--seconds 3]`.

Pairs of runs, with counters and without, begun by one and the other in turn; the ratio of a pair is free of slow changes
of the machine. The interval is that of the median of the ratios by order statistics, 95 %.
"""

import argparse
import json
import math
import os
import statistics
import subprocess

PLANS = {
    "psync, 1 outstanding": 'engine = "psync"\n',
    "io_uring, 32 outstanding": 'engine = "io_uring"\noutstanding = 32\n',
}


def median_interval(values):
    """Order statistics that hold the median at 95 %; None where there are too few."""
    n = len(values)
    below, k = 0.0, 0
    while below + math.comb(n, k) / 2**n <= 0.025:
        below += math.comb(n, k) / 2**n
        k += 1
    ordered = sorted(values)
    return (ordered[k - 1], ordered[n - k]) if k else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assay", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    assay = os.path.abspath(args.assay)
    holes = os.path.join(args.dir, "holes")
    with open(holes, "wb") as out:
        out.truncate(16 << 30)
    env = {**os.environ, "HOME": args.dir, "ASSAY_RUNS": os.path.join(args.dir, "runs")}
    last_cpu = str(max(os.sched_getaffinity(0)))
    print("| job | pairs | with / without, median | 95 % interval | IOPS with | IOPS without |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, options in PLANS.items():
        plan = os.path.join(args.dir, "plan.toml")
        with open(plan, "w") as out:
            out.write(
                f'name = "yardstick"\ntarget = [{{ name = "t", path = "{holes}" }}]\n[[job]]\nop = "read"\n'
                f'block_size = "4k"\npattern = "random"\ncaching = "direct"\nruntime = "{int(args.seconds * 1000)}ms"\n{options}'
            )

        def iops(*more):
            command = ["taskset", "-c", last_cpu, assay, "run", plan, "--json", "--quiet", *more]
            out = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True).stdout
            return json.loads(out)["phases"][0]["jobs"][0]["total"]["iops"]

        watched, plain = [], []
        for pair in range(args.pairs):
            order = [(watched, ()), (plain, ("--watch", "nothing"))]
            for kept, more in order if pair % 2 == 0 else reversed(order):
                kept.append(iops(*more))
        ratios = [a / b for a, b in zip(watched, plain)]
        interval = median_interval(ratios)
        held = f"{interval[0]:.4f} to {interval[1]:.4f}" if interval else "too few"
        print(
            f"| {name} | {args.pairs} | {statistics.median(ratios):.4f} | {held} "
            f"| {statistics.median(watched):,.0f} | {statistics.median(plain):,.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
