#!/usr/bin/env python3
"""CPU of a validated 4 KiB block: `benches/verify.py --assay BINARY --dir DIR [--pairs 7] [--seconds 2] [--size 1g]`.

Pairs of runs with `verify = true` and without, in turn (benches/pairs.py). The file is written by a phase of its own first, so that
reads find what this run wrote. What is compared is the CPU of the measured job for each of its I/Os.
"""

import argparse
import json
import os
import statistics

import pairs

OPERATIONS = ["write", "read"]
PATHS = {
    "io_uring, 32, direct": ("io_uring", 32, "direct"),
    "psync, 1, direct": ("psync", 1, "direct"),
    "io_uring, 32, buffered": ("io_uring", 32, "buffered"),
}


def parse(out):
    """IOPS and I/Os of the measured job, with its CPU an I/O; nothing may be wrong, and all that was read compared."""
    job = json.loads(out)["phases"][-1]["jobs"][0]
    data = job.get("data")
    assert data is None or (data["wrong"] == 0 and data["unverifiable"] == 0 and data["written"] + data["verified"] > 0), data
    return job["total"]["iops"], job["total"]["ios"], {"job_ns": job["cpu_ns_per_io"]}


def plan(args, operation, path, verify):
    engine, outstanding, caching = path
    content = f"content = {{ verify = {str(verify).lower()} }}\n"
    job = f'caching = "{caching}"\ninvalidate = false\n{content}'
    fill = f'[[phase]]\nname = "fill"\nkind = "precondition"\n[[phase.job]]\nop = "write"\nblock_size = "1m"\npattern = "sequential"\npasses = 1\n{job}'
    measured = f'[[phase]]\nname = "measured"\n[[phase.job]]\nop = "{operation}"\nblock_size = "4k"\npattern = "random"\n'
    measured += f'engine = "{engine}"\noutstanding = {outstanding}\nruntime = "{int(args.seconds * 1000)}ms"\n{job}'
    target = f'name = "verify"\nseed = 7\n[[target]]\nname = "t"\npath = "{args.dir}/data"\nsize = "{args.size}"\n'
    return target + fill + measured


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assay", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--retries", type=int, default=2, help="how often a repetition that was disturbed is tried")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--size", default="1g")
    args = parser.parse_args()
    environment = {"HOME": args.dir, "ASSAY_RUNS": os.path.join(args.dir, "runs")}
    cpu = max(os.sched_getaffinity(0))
    print("| job | pairs | CPU with / without, median | 95 % interval | ns with | ns without | IOPS with | IOPS without |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, path in PATHS.items():
        for operation in OPERATIONS:
            variants = {}
            for variant, verify in [("with", True), ("without", False)]:
                file = os.path.join(args.dir, f"{variant}.toml")
                with open(file, "w") as out:
                    out.write(plan(args, operation, path, verify))
                command = [os.path.abspath(args.assay), "run", file, "--json", "--quiet"]
                variants[variant] = lambda command=command: pairs.execute(command, parse, cpu, environment)
            kept = pairs.rounds(variants, args.pairs, args.retries)
            ratio, low, high = pairs.ratios(kept, "with", "without", lambda result: result.extra["job_ns"])
            median = lambda variant, value: statistics.median(value(result[variant]) for result in kept)
            row = [f"{operation}, {name}", len(kept), f"{ratio:.2f}", f"{low:.2f} to {high:.2f}"]
            row += [f"{median(variant, lambda result: result.extra['job_ns']):,.0f}" for variant in variants]
            row += [f"{median(variant, lambda result: result.iops):,.0f}" for variant in variants]
            print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
