#!/usr/bin/env python3
"""Poisson arrivals as the block layer sees them: `benches/open_loop.py --dir DIR [--rate 20000] [--seconds 10] [--pairs 7]`.

The same job file through Assay and through fio (rate_process=poisson), interleaved. Whether arrivals are Poisson is judged from
outside, by the kernel's own trace of requests that were inserted or issued: the distance of their gaps from an exponential
distribution (Kolmogorov-Smirnov). Needs root, for tracefs, and a file system on a block device.
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import tempfile

import pairs

TRACING = "/sys/kernel/tracing"


def write(name, text):
    with open(os.path.join(TRACING, name), "w") as file:
        file.write(text)


class BlockTrace:
    """Requests of 4 KiB reads to one device, with the kernel's time stamps."""

    def __init__(self, device):
        status = os.stat(device).st_rdev
        self.filter = f"dev == {(os.major(status) << 20) | os.minor(status)} && nr_sector == 8"

    def __enter__(self):
        write("tracing_on", "0")
        write("trace_clock", "mono")
        write("buffer_size_kb", "65536")
        write("trace", "")
        write("events/block/block_rq_issue/filter", self.filter)
        write("events/block/block_rq_issue/enable", "1")
        write("tracing_on", "1")
        return self

    def __exit__(self, *_):
        write("tracing_on", "0")
        write("events/block/block_rq_issue/enable", "0")
        write("events/block/block_rq_issue/filter", "0")

    def times_s(self):
        with open(os.path.join(TRACING, "trace")) as file:
            found = (re.search(r"\s(\d+\.\d+): block_rq_issue: \S+ R", line) for line in file)
            return [float(match.group(1)) for match in found if match]


def ks_distance(gaps_s, rate):
    """Largest distance between the gaps' distribution and the exponential one with this rate, and its 1 % critical value.
    The trace's stamps have whole microseconds: half of one is added to each gap's step."""
    gaps, n, worst = sorted(gaps_s), len(gaps_s), 0.0
    for index, gap in enumerate(gaps):
        expected = 1 - math.exp(-rate * max(gap, 0.0))
        worst = max(worst, abs(expected - (index + 0.5) / n))
    return worst, 1.63 / math.sqrt(n)


def device_of(path):
    name = subprocess.run(["findmnt", "-no", "SOURCE", "-T", path], check=True, capture_output=True, text=True).stdout
    return name.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--assay", default="target/release/assay")
    parser.add_argument("--dir", required=True)
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=7)
    args = parser.parse_args()
    if not os.path.exists(os.path.join(TRACING, "trace")):
        subprocess.run(["mount", "-t", "tracefs", "nodev", TRACING], check=True)
    path, runs = os.path.join(args.dir, "open.dat"), tempfile.mkdtemp(prefix="assay-bench-runs-")
    lay = dict(filename=path, size="2g", rw="write", bs="1m", direct=1, ioengine="libaio", iodepth=8, end_fsync=1)
    subprocess.run(["fio", "--name=lay"] + [f"--{k}={v}" for k, v in lay.items()], check=True, stdout=subprocess.DEVNULL)
    job = dict(filename=path, size="2g", rw="randread", bs="4k", direct=1, ioengine="io_uring", iodepth=64, norandommap=1)
    job.update(rate_iops=args.rate, rate_process="poisson", time_based=1, runtime=args.seconds)
    file = tempfile.NamedTemporaryFile("w", suffix=".fio", delete=False)
    file.write("[global]\n" + "".join(f"{k}={v}\n" for k, v in job.items()) + "[job]\n")
    file.close()
    trace = BlockTrace(device_of(args.dir))
    late = []

    def parse_assay(out):
        found = pairs.parse_assay(out)
        jobs = [j for p in json.loads(out)["phases"] if p["kind"] == "measure" for j in p["jobs"]]
        late.append(jobs[0].get("lateness_ns"))
        return found

    def traced(command, parse):
        def run():
            with trace:
                result = pairs.execute(command, parse, environment={"ASSAY_RUNS": runs})
            times = trace.times_s()
            middle = [t for t in times if times[0] + 1 < t < times[-1] - 1]
            gaps = [b - a for a, b in zip(middle, middle[1:])]
            result.extra["ks"], result.extra["limit"] = ks_distance(gaps, args.rate)
            return result
        return run

    kept = pairs.rounds({
        "assay": traced([args.assay, "run", file.name, "--target", args.dir, "--json", "--quiet"], parse_assay),
        "fio": traced(["fio", "--output-format=json", file.name], pairs.parse_fio),
    }, args.pairs, retries=1)
    os.unlink(path)
    print(f"Poisson, {args.rate}/s, {args.seconds} s, {len(kept)} interleaved pairs; medians\n")
    print("| | IOPS reached | CPU s per s | distance from exponential (limit at 1 %) |\n|---|---:|---:|---:|")
    for name in kept[0]:
        med = lambda f: statistics.median(f(r[name]) for r in kept)
        cpu = med(lambda r: r.cpu_ns * r.ios / 1e9 / args.seconds)
        print(f"| {name} | {med(lambda r: r.iops):,.0f} | {cpu:.3f} | {med(lambda r: r.extra['ks']):.4f} ({kept[0][name].extra['limit']:.4f}) |")
    shown = [entry for entry in late if entry]
    if shown:
        middle = {key: statistics.median(entry[key] or 0 for entry in shown) for key in ("p50", "p99", "p99_9")}
        print("\nAssay's lateness: " + ", ".join(f"{key} {value / 1e3:.2f} us" for key, value in middle.items()))


if __name__ == "__main__":
    main()
