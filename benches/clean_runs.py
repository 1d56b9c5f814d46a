#!/usr/bin/env python3
"""Clean runs of many kinds: how often the verdict is not valid, and whether something else used the machine then.

`benches/clean_runs.py --assay BINARY --dir DIR [--runtime 6s] [--keep FILE]`

Forty jobs: reads, writes and mixes, direct and buffered, three engines, 1, 8 and 32 outstanding, 4 KiB to 1 MiB, closed and open loop. The
observer reads the kernel's own counters (steal, processor time outside this process tree)
and takes no part in the verdict. Output is Markdown on stdout.
"""

import argparse
import json
import os
import resource
import subprocess
import sys

SIZE = "512m"
SEQUENTIAL, RANDOM = "sequential", "random"


def job(op, block, pattern, outstanding, engine, caching="direct", **more):
    keys = {"op": op} if isinstance(op, str) else {"read_percent": op}
    keys |= {"block_size": block, "pattern": pattern, "outstanding": outstanding, "engine": engine, "caching": caching}
    return keys | more


def grid():
    """The forty jobs."""
    jobs = []
    for engine in ("io_uring", "libaio", "psync"):
        depths = (1,) if engine == "psync" else (1, 8, 32)
        jobs += [job("read", "4k", RANDOM, depth, engine) for depth in depths]
        jobs += [job("write", "4k", RANDOM, depth, engine) for depth in depths]
        jobs += [job(70, "4k", RANDOM, depth, engine) for depth in depths]
    for block in ("16k", "64k", "1m"):
        jobs += [job(op, block, SEQUENTIAL, 8, "io_uring") for op in ("read", "write")]
    jobs += [job("read", "128k", SEQUENTIAL, 1, "psync"), job("write", "128k", SEQUENTIAL, 1, "psync")]
    # Buffered writes are flushed: without, most are still in memory at the end, which is a finding by right.
    jobs += [job("read", "16k", RANDOM, depth, "io_uring", "buffered", once_per_run=True) for depth in (1, 8)]
    jobs += [job("write", "64k", SEQUENTIAL, 1, "psync", "buffered", flush={"every_writes": 16})]
    jobs += [job("write", "4k", RANDOM, 1, "psync", flush={"every_writes": 1}), job("read", "1m", RANDOM, 1, "psync")]
    jobs += [job("read", "4k", RANDOM, 8, engine, rate=2000) for engine in ("io_uring", "libaio")]
    jobs += [job("write", "16k", RANDOM, 4, "io_uring", rate=500), job(50, "8k", RANDOM, 16, "io_uring", rate=1500)]
    jobs += [job("read", "64k", RANDOM, 8, engine) for engine in ("io_uring", "libaio")]
    return jobs


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {toml(v)}" for k, v in value.items()) + " }"
    return json.dumps(value)


def plan(keys, runtime):
    # A buffered job reads each block once, so that nothing comes from the page cache by right.
    keys = dict(keys)
    limit = 'passes = 1\n' if keys.pop("once_per_run", False) else f'runtime = "{runtime}"\n'
    lines = "".join(f"{key} = {toml(value)}\n" for key, value in keys.items())
    return f'name = "clean"\n[[target]]\nname = "data"\npath = "clean.data"\nsize = "{SIZE}"\n[[job]]\n{lines}{limit}'


def ticks():
    """(all, steal, busy) ticks of the machine so far."""
    fields = [int(x) for x in open("/proc/stat").readline().split()[1:9]]
    return sum(fields), fields[7], sum(fields[:3]) + sum(fields[5:7])


def own_ticks():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (usage.ru_utime + usage.ru_stime) * os.sysconf("SC_CLK_TCK")


def run(args, index, keys):
    path = os.path.join(args.dir, "clean.toml")
    with open(path, "w") as file:
        file.write(plan(keys, args.runtime))
    os.sync()
    (all_0, steal_0, busy_0), own_0 = ticks(), own_ticks()
    environment = {**os.environ, "ASSAY_RUNS": os.path.join(args.dir, "runs"), "XDG_DATA_HOME": os.path.join(args.dir, "xdg")}
    command = [args.assay, "run", path, "--target", args.dir, "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    (all_1, steal_1, busy_1), own_1 = ticks(), own_ticks()
    if not done.stdout.strip():
        sys.exit(f"run {index} failed:\n{path}\n{open(path).read()}\n{done.stderr}")
    document = json.loads(done.stdout)
    elapsed = max(all_1 - all_0, 1)
    return {
        "job": ", ".join(str(v) if not isinstance(v, dict) else json.dumps(v) for v in keys.values()),
        "iops": document["phases"][-1]["jobs"][0]["total"]["iops"],
        "verdict": document["verdict"],
        "findings": [f for f in document["findings"] if f["severity"] in ("warning", "invalid")],
        "steal_percent": 100 * (steal_1 - steal_0) / elapsed,
        "others_percent": 100 * max(busy_1 - busy_0 - (own_1 - own_0), 0) / elapsed,
    }


def confirmed(row):
    """Whether the observer saw somebody else: 3 % of the processors' time stolen, or 10 % used by other processes."""
    return row["steal_percent"] >= 3 or row["others_percent"] >= 10


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--runtime", default="6s")
    parser.add_argument("--keep")
    args = parser.parse_args()
    print("| run | IOPS | verdict | findings | steal | others' CPU |\n|---|---:|---|---|---:|---:|")
    rows = []
    for index, keys in enumerate(grid()):
        row = run(args, index, keys)
        rows.append(row)
        said = "; ".join(f"{f['id']}: {f['message']}" for f in row["findings"]) or "-"
        print(f"| {row['job']} | {row['iops']:,.0f} | {row['verdict']} | {said} | {row['steal_percent']:.1f} % | {row['others_percent']:.1f} % |")
        sys.stdout.flush()
    if args.keep:
        json.dump(rows, open(args.keep, "w"), indent=1)
    counts = {word: sum(1 for r in rows if r["verdict"] == word) for word in ("valid", "suspect", "invalid")}
    alone = sum(1 for r in rows if r["verdict"] != "valid" and not confirmed(r))
    print(f"\n{len(rows)} runs: {counts['valid']} valid, {counts['suspect']} suspect, {counts['invalid']} invalid; "
          f"not valid without a cause that the observer confirms: {alone}")


main()
