"""Interleaved pairs: the same job through several programs, in turn, on one processor.

Machines are noisy and drift, so every repetition runs all variants once, in an order that alternates, and what is
reported is the median of the ratios within repetitions with an interval that needs no distribution: two order statistics
that bound the median with 95 % confidence or more (for seven pairs the smallest and the largest: 98 %). CPU is user plus system time of the whole process as the
kernel gives it when the process is reaped, kernel workers included.
"""

import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time


def stat_ticks():
    """(steal, busy) ticks of the machine so far."""
    fields = [int(x) for x in open("/proc/stat").readline().split()[1:]]
    busy = sum(fields[:3]) + sum(fields[5:8])
    return fields[7], busy


class Result:
    """One run of one variant."""

    def __init__(self, iops, wall_s, user_s, system_s, ios, quiet, extra=None):
        self.iops, self.wall_s, self.ios, self.quiet = iops, wall_s, ios, quiet
        self.user_ns = user_s * 1e9 / max(ios, 1)
        self.system_ns = system_s * 1e9 / max(ios, 1)
        self.extra = extra or {}

    @property
    def cpu_ns(self):
        return self.user_ns + self.system_ns


def execute(command, parse, cpu=None, environment=None):
    """Runs a command, pinned to `cpu` if given; `parse(stdout)` gives (iops, ios, extra)."""
    if cpu is not None:
        command = ["taskset", "-c", str(cpu)] + command
    steal, busy = stat_ticks()
    started = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **(environment or {})}
    )
    # Read before waiting: a full pipe would block the program under test.
    out, err = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - started
    steal_after, busy_after = stat_ticks()
    if status != 0:
        sys.exit(f"{' '.join(command)}: status {status}\n{err.decode(errors='replace')}")
    iops, ios, extra = parse(out.decode())
    tick = os.sysconf("SC_CLK_TCK")
    # Interrupts and kernel threads of the device itself count as foreign; a tenth of what the program used is let pass.
    used = usage.ru_utime + usage.ru_stime
    foreign = (busy_after - busy) / tick - 1.1 * used
    quiet = (steal_after - steal) / tick < 0.03 * wall and foreign < 0.25 * wall
    return Result(iops, wall, usage.ru_utime, usage.ru_stime, ios, quiet, extra)


def parse_fio(out):
    """fio's JSON: all jobs and directions together."""
    document = json.loads(out[out.index("{") :])
    sides = [job[side] for job in document["jobs"] for side in ("read", "write")]
    latency = [job["read"]["clat_ns"]["mean"] for job in document["jobs"]]
    return sum(s["iops"] for s in sides), sum(s["total_ios"] for s in sides), {"clat_ns": statistics.mean(latency)}


def parse_assay(out):
    """Assay's JSON: the measuring phases' jobs together."""
    document = json.loads(out)
    jobs = [job for phase in document["phases"] if phase["kind"] == "measure" for job in phase["jobs"]]
    extra = {"engine": jobs[0]["engine"], "run": document["id"]}
    return sum(j["total"]["iops"] for j in jobs), sum(j["total"]["ios"] for j in jobs), extra


def rounds(variants, repetitions, retries=4):
    """Runs all variants `repetitions` times; a repetition that something disturbed is repeated up to `retries` times."""
    kept = []
    for repetition in range(repetitions):
        names = list(variants)
        if repetition % 2:
            names.reverse()
        for attempt in range(retries):
            results = {name: variants[name]() for name in names}
            if all(result.quiet for result in results.values()) or attempt + 1 == retries:
                break
        kept.append(results)
    return kept


def bounds(n):
    """Index of the order statistic from each end that bounds the median of `n` values with 95 % confidence or more; the
    ends themselves where `n` is too small for that."""
    tail, k = 0.0, 0
    while True:
        tail += math.comb(n, k) / 2**n
        if 2 * tail > 0.05:
            return max(k - 1, 0)
        k += 1


def ratios(kept, name, other, value):
    """Median and interval of value(name) / value(other) within repetitions."""
    pairs = sorted(value(r[name]) / max(value(r[other]), 1e-9) for r in kept)
    k = bounds(len(pairs))
    return statistics.median(pairs), pairs[k], pairs[-1 - k]


def table(title, kept, reference, targets=None):
    """Prints medians per variant and the ratios of `reference` to the others."""
    disturbed = sum(1 for r in kept if not all(x.quiet for x in r.values()))
    note = f", {disturbed} of them disturbed" if disturbed else ""
    print(f"\n### {title} ({len(kept)} interleaved repetitions{note})\n")
    print("| variant | IOPS | user ns | system ns | CPU ns | IOPS ratio to it [interval] | CPU ratio [interval] |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in kept[0]:
        med = lambda f: statistics.median(f(r[name]) for r in kept)
        row = f"| {name} | {med(lambda r: r.iops):,.0f} | {med(lambda r: r.user_ns):.0f} | {med(lambda r: r.system_ns):.0f}"
        row += f" | {med(lambda r: r.cpu_ns):.0f} |"
        if name == reference:
            row += " | |"
        else:
            i = ratios(kept, reference, name, lambda r: r.iops)
            c = ratios(kept, reference, name, lambda r: r.cpu_ns)
            row += f" {i[0]:.2f} [{i[1]:.2f}, {i[2]:.2f}] | {c[0]:.2f} [{c[1]:.2f}, {c[2]:.2f}] |"
        print(row)
    sys.stdout.flush()
