#!/usr/bin/env python3
"""What the checks cost in IOPS: `benches/overhead.py --assay BINARY --dir DIR [--pairs 30] [--seconds 3]`.

Pairs of runs with counters and quiet windows and without, begun by one and the other in turn (benches/pairs.py). Beside the
ratio of IOPS, which a noisy machine blurs, the processor time that each run used outside its job's thread, per second of its
run: all that the checks do is done there.
"""

import argparse
import json
import os
import statistics

import pairs

PLANS = {
    "psync, 1 outstanding": 'engine = "psync"\n',
    "io_uring, 32 outstanding": 'engine = "io_uring"\noutstanding = 32\n',
}


def parse(out):
    """As pairs.parse_assay, with the processor seconds of the job's thread and of how long it measured."""
    job = json.loads(out)["phases"][-1]["jobs"][0]["evidence"]
    iops, ios, extra = pairs.parse_assay(out)
    thread_s = (job["cpu_user_ns"] + job["cpu_system_ns"]) / 1e9
    return iops, ios, {**extra, "thread_s": thread_s, "measured_s": job["measured_ns"] / 1e9}


def outside_share(result):
    """Processor time outside the job's thread as a share of the measured time."""
    used_s = result.cpu_ns * result.ios / 1e9
    return (used_s - result.extra["thread_s"]) / result.extra["measured_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assay", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--retries", type=int, default=2, help="how often a repetition that was disturbed is tried")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    holes, plan = os.path.join(args.dir, "holes"), os.path.join(args.dir, "plan.toml")
    with open(holes, "wb") as out:
        out.truncate(16 << 30)
    environment = {"HOME": args.dir, "ASSAY_RUNS": os.path.join(args.dir, "runs")}
    command = [os.path.abspath(args.assay), "run", plan, "--json", "--quiet"]
    cpu = max(os.sched_getaffinity(0))
    print("| job | pairs | with / without, median | 95 % interval | IOPS with | IOPS without | outside the job, with | without |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, options in PLANS.items():
        with open(plan, "w") as out:
            out.write(
                f'name = "yardstick"\ntarget = [{{ name = "t", path = "{holes}" }}]\n[[job]]\nop = "read"\n'
                f'block_size = "4k"\npattern = "random"\ncaching = "direct"\nruntime = "{int(args.seconds * 1000)}ms"\n{options}'
            )
        once = lambda *more: pairs.execute([*command, *more], parse, cpu, environment)
        variants = {"with": once, "without": lambda: once("--watch", "nothing")}
        kept = pairs.rounds(variants, args.pairs, args.retries)
        ratio, low, high = pairs.ratios(kept, "with", "without", lambda result: result.iops)
        median = lambda variant: statistics.median(result[variant].iops for result in kept)
        outside = lambda variant: statistics.median(outside_share(result[variant]) for result in kept)
        row = [name, len(kept), f"{ratio:.4f}", f"{low:.4f} to {high:.4f}", f"{median('with'):,.0f}", f"{median('without'):,.0f}"]
        row += [f"{outside(variant):.2%}" for variant in variants]
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
