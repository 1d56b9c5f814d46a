#!/usr/bin/env python3
"""Staged traps in doses: how often each check speaks, and whether the bias it states holds the real one.

`benches/traps.py --assay BINARY --dir DIR [--trials 10] [--doses 2,5,10,20,35,50] [--only NAME ..] [--clean 30] [--keep FILE]`
`benches/traps.py --assay BINARY --dir DIR --pairs 5 [--only NAME ..]`: instead, each staging so many times beside an undisturbed twin, in
alternate order: what is stated against what was measured, one line a pair, and how often the statement covers it. Five pairs take ten minutes.

The traps are staged on devices over memory whose pace a throttle sets, several at a time, each on a device of its own: the
real bias is that of nothing else, and what they find does not depend on the others. Those of a second process, on a throttled file
of a real disk, and of a busy processor are staged one after the other. A trial is repeated where
a disk or the processors were busy with something else before or after it, and where it took much longer than it should (a
machine that was stopped meanwhile). Each trial is written to FILE at once, and what is there is not staged again. Output
is Markdown on stdout.
"""

import argparse
import concurrent.futures
import contextlib
import itertools
import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

MIB = 1 << 20
READS = 'op = "read"\nblock_size = "4k"\npattern = "random"\n'
FILE_MIB = 32
IMAGE_MIB = 48
# Throttled traps that are staged at a time.
ABREAST = 5


def busy(seconds=0.25):
    """Shares of the processors and of the busiest real disk that something used just now."""

    def look():
        cpu = [int(x) for x in open("/proc/stat").readline().split()[1:9]]
        disks = [l.split() for l in open("/proc/diskstats")]
        disk = max((int(w[12]) for w in disks if not w[2].startswith(("loop", "zram"))), default=0)
        return sum(cpu[:3]) + sum(cpu[5:8]), disk

    before = look()
    time.sleep(seconds)
    after = look()
    return (after[0] - before[0]) / (100 * seconds * os.cpu_count()), (after[1] - before[1]) / (1000 * seconds)


def quiet():
    cpu, disk = busy()
    return cpu < 0.35 and disk < 0.25


class Discard(Exception):
    pass


class Bench:
    def __init__(self, args):
        self.args = args
        self.env = {**os.environ, "HOME": args.dir, "ASSAY_RUNS": os.path.join(args.dir, "runs")}
        self.discarded = 0
        self.numbers = itertools.count()
        self.kept = {}
        if args.keep and os.path.exists(args.keep):
            for line in open(args.keep):
                one = json.loads(line)
                self.kept[tuple(one["key"])] = one["value"]

    def once(self, key, stage):
        """What `stage` answers, or answered when it was called for this key before."""
        if key not in self.kept:
            value = stage()
            self.kept[key] = value
            if self.args.keep:
                with open(self.args.keep, "a") as out:
                    out.write(json.dumps({"key": key, "value": value}) + "\n")
        return self.kept[key]

    def path(self, name):
        return os.path.join(self.args.dir, name)

    def file(self, name, mib=FILE_MIB):
        path = self.path(name)
        with open(path, "wb") as out:
            for _ in range(mib):
                out.write(os.urandom(MIB))
            out.flush()
            os.fsync(out.fileno())
        return path

    def whole_file(self, name="whole"):
        """A file that no trap changes, made once."""
        path = self.path(name)
        return path if os.path.exists(path) else self.file(name)

    def command(self, target, job, *more, by=()):
        plan = self.path(f"plan-{threading.get_ident()}-{next(self.numbers)}.toml")
        with open(plan, "w") as out:
            out.write(f'name = "trap"\ntarget = [{{ name = "t", path = "{target}" }}]\n[[job]]\n{job}\n')
        return [*by, self.args.assay, "run", plan, "--json", "--quiet", *more]

    def start(self, *args, **kwargs):
        command = self.command(*args, **kwargs)
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env, cwd=self.args.dir)

    def end(self, process, expected_s=None):
        begun = time.monotonic()
        out, err = process.communicate()
        if expected_s and time.monotonic() - begun > 3 * expected_s + 3:
            raise Discard("took too long")
        if not out:
            raise RuntimeError(err.decode())
        return json.loads(out)

    def run(self, *args, expected_s=4, **kwargs):
        return self.end(self.start(*args, **kwargs), expected_s)


def total(run):
    return run["phases"][0]["jobs"][0]["total"]["iops"]


def finding(run, ids):
    return next((f for f in run["findings"] if f["id"] in ids and f["severity"] in ("info", "warning", "invalid")), None)


def stated(bias, low=None):
    """The stated range as shares, endless where it says "or more"; None where it is in words only. Of a bias that has both, the range
    in that direction."""
    clauses = [part for part in bias.split("; ") if low is None or direction(part) in (0, -1 if low else 1)]
    return next((found for found in map(clause, clauses) if found), None)


def clause(bias):
    """One direction of a bias."""
    high = None
    if found := re.search(r"IOPS 0-([\d.]+) % (high|low)", bias):
        high = float(found[1]) / 100
    elif found := re.search(r"IOPS up to (\d+) times too high", bias):
        high = float(found[1]) - 1
    elif found := re.search(r"without it up to ([\d.]+) times as many", bias):
        high = float(found[1]) - 1
    elif re.search(r"IOPS (high without bound|low by far)", bias):
        high = math.inf
    if high is None:
        return None
    return (0.0, math.inf if "or more" in bias else high)


def direction(bias):
    """1 where the figure is said to be too high, -1 where too low, 0 where both or neither."""
    return bool(re.search(r"\bhigh\b", bias)) - bool(re.search(r"\blow\b", bias))


def covers(said, real):
    # Two runs after each other differ by some per cent anyway.
    return said[0] - 0.05 <= real <= said[1] * 1.05 + 0.05


@contextlib.contextmanager
def group(name="assay-qualify"):
    path = f"/sys/fs/cgroup/blkio/{name}-{os.getpid()}-{threading.get_ident()}"
    os.mkdir(path)
    try:
        yield path
    finally:
        for _ in range(100):
            try:
                os.rmdir(path)
                break
            except OSError:
                time.sleep(0.02)


@contextlib.contextmanager
def loop(image, *how):
    # Several at a time may be given the same free device, of which one gets it.
    for attempt in range(20):
        made = subprocess.run(["losetup", "--find", "--show", *how, image], text=True, stdout=subprocess.PIPE)
        if made.returncode == 0:
            break
        time.sleep(0.1)
    device = made.stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "-d", device], check=True)


class Throttled:
    """Loop devices over memory, or over a file, whose pace is set from outside, in a control group each."""

    def __init__(self, bench):
        self.bench = bench

    @contextlib.contextmanager
    def ready(self):
        with tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="assay-traps-") as image:
            image.write(os.urandom(IMAGE_MIB * MIB))
            image.flush()
            with self.device(image.name) as parts:
                yield parts

    @contextlib.contextmanager
    def device(self, image, *how):
        with loop(image, *how) as device, group() as path:
            number = open(f"/sys/class/block/{device[5:]}/dev").read().strip()

            def limit(iops):
                with open(f"{path}/blkio.throttle.read_iops_device", "w") as out:
                    out.write(f"{number} {int(iops)}")

            by = ["sh", "-c", f'echo $$ > {path}/cgroup.procs && exec "$0" "$@"']
            yield device, limit, by

    @contextlib.contextmanager
    def file(self):
        """A file on such a device, at the pace of one pass."""
        with self.ready() as (device, limit, by), tempfile.TemporaryDirectory(dir=self.bench.args.dir) as at:
            # What is read ahead is not asked for again, and would be a dose of its own.
            with open(f"/sys/class/block/{device[5:]}/queue/read_ahead_kb", "w") as out:
                out.write("0")
            subprocess.run(["mkfs.ext4", "-q", "-O", "^has_journal", device], check=True)
            subprocess.run(["mount", device, at], check=True)
            try:
                path = self.bench.file(os.path.join(at, "data"))
                with open(path, "rb") as made:
                    os.posix_fadvise(made.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                limit(BASE_PASS)
                yield path, by
            finally:
                subprocess.run(["umount", at], check=True)

    def course(self, seconds, steps, job=""):
        """A run in which the limit changes: (seconds after the start of the measured part, IOPS)."""
        with self.ready() as (device, limit, by):
            limit(steps[0][1])
            text = f'{READS}outstanding = 4\nruntime = "{int(seconds * 1000)}ms"\n{job}'
            process = self.bench.start(device, text, by=by)
            begun = time.monotonic() + 0.6
            for at, iops in steps[1:]:
                time.sleep(max(0, begun + at - time.monotonic()))
                limit(iops)
            return self.bench.end(process, seconds)


BASE = 2500
# No limit: the device as it is.
FREE = 0
# Of one pass over everything.
BASE_PASS = 2000


def cache(bench, dose):
    """One pass over a file of which a part is in the page cache: the rest comes at the pace of the throttle."""
    job = READS + 'engine = "psync"\ncaching = "buffered"\ninvalidate = false\npasses = 1'
    with bench.throttled.file() as (path, by):
        clean = total(bench.run(path, job, by=by))
        with open(path, "rb", buffering=0) as warm:
            os.posix_fadvise(warm.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            os.posix_fadvise(warm.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            for _ in range(int(dose * FILE_MIB * MIB) // 4096):
                warm.read(4096)
        run = bench.run(path, job, by=by)
    return finding(run, ["cache-served-reads"]), total(run) / clean - 1


def holes(bench, dose):
    """One pass over a file with holes: the rest comes at the pace of the throttle."""
    job = READS + 'engine = "psync"\ncaching = "direct"\npasses = 1'
    with bench.throttled.file() as (path, by):
        clean = total(bench.run(path, job, by=by))
        bytes_ = int(dose * FILE_MIB * MIB) // 4096 * 4096
        subprocess.run(["fallocate", "--punch-hole", "-o", "0", "-l", str(bytes_), path], check=True)
        subprocess.run(["sync", "-f", path], check=True)
        run = bench.run(path, job, by=by)
    return finding(run, ["unwritten-reads"]), total(run) / clean - 1


def midway(bench, dose):
    after = BASE * (1 - dose)
    run = bench.throttled.course(3.2, [(0, BASE), (1.6, after)])
    return finding(run, ["throttled", "not-steady"]), total(run) / after - 1


def drift(bench, dose):
    steps = [(0.2 * i, BASE * (1 - dose * i / 15)) for i in range(16)]
    run = bench.throttled.course(3.2, steps)
    return finding(run, ["not-steady", "throttled"]), total(run) / (BASE * (1 - dose)) - 1


def stall(bench, dose):
    run = bench.throttled.course(3.2, [(0, BASE), (1.6, BASE * (1 - dose)), (2.0, BASE)])
    return finding(run, ["outlier-interval"]), BASE / total(run) - 1


def rate(bench, dose):
    offered = int(BASE / (1 - dose))
    run = bench.throttled.course(3.2, [(0, BASE)], f"rate = {offered}")
    return finding(run, ["rate-not-reached"]), 1 - total(run) / offered


def others(bench, dose):
    """Two processes below one limit, on a real disk: what the other reads is missing here."""
    job = READS + 'outstanding = 4\nramp = "300ms"\nruntime = "1200ms"'
    image = bench.whole_file("image")
    with bench.throttled.device(image, "--direct-io=on") as (device, limit, by):
        limit(BASE)
        clean = total(bench.run(device, job, by=by))
        rival = bench.start(device, f'{READS}outstanding = 4\nruntime = "4s"\nrate = {int(BASE * dose)}', by=by)
        try:
            time.sleep(0.9)
            run = bench.run(device, job, by=by)
        finally:
            rival.terminate()
            rival.communicate()
    return finding(run, ["foreign-io"]), clean / total(run) - 1


SPIN = "import time\nwhile 1:\n t=time.perf_counter()+{on}\n while time.perf_counter()<t: pass\n time.sleep({off})"


def processor(bench, dose):
    path = bench.whole_file()
    job = READS + 'engine = "psync"\ncaching = "buffered"\ninvalidate = false\nruntime = "1s"'
    open(path, "rb").read()
    clean = total(bench.run(path, job, by=["taskset", "-c", "0"]))
    spin = SPIN.format(on=0.02 * dose, off=0.02 * (1 - dose))
    other = subprocess.Popen(["taskset", "-c", "0", sys.executable, "-c", spin])
    try:
        time.sleep(0.2)
        run = bench.run(path, job, by=["taskset", "-c", "0"])
    finally:
        other.kill()
        other.wait()
    waited = next((f for f in run["findings"] if "waited for a CPU" in f["message"]), None)
    return waited, clean / total(run) - 1


WRITES = 'op = "write"\nblock_size = "4k"\npattern = "random"\nengine = "psync"\n'


def absorbed(bench, _dose):
    """Direct writes through a loop device that keeps them in the page cache; the twin's loop device writes directly, too."""
    image = bench.file("absorbs", 64)
    job = WRITES + 'runtime = "2s"'
    with loop(image, "--direct-io=on") as device:
        clean = total(bench.run(device, job, "--destroy-data", device))
    with loop(image) as device:
        run = bench.run(device, job, "--destroy-data", device)
    return finding(run, ["cache-absorbed-writes"]), total(run) / clean - 1


@contextlib.contextmanager
def quota(share):
    """How to start a process two groups below one that may use this share of one processor (version 1)."""
    above = f"/sys/fs/cgroup/cpu/assay-qualify-{os.getpid()}"
    below = os.path.join(above, "between", "job")
    os.makedirs(below)
    try:
        with open(os.path.join(above, "cpu.cfs_quota_us"), "w") as out:
            out.write(str(int(100_000 * share)))
        yield ["sh", "-c", f'echo $$ > {below}/cgroup.procs && exec "$0" "$@"']
    finally:
        for path in (below, os.path.dirname(below), above):
            time.sleep(0.1)
            os.rmdir(path)


def quota_above(bench, dose):
    """A job that takes a whole processor, below a group that may not have all of it."""
    path = bench.whole_file()
    job = READS + 'engine = "psync"\ncaching = "buffered"\ninvalidate = false\nruntime = "2s"'
    open(path, "rb").read()
    clean = total(bench.run(path, job))
    with quota(1 - dose) as by:
        run = bench.run(path, job, by=by, expected_s=8)
    return finding(run, ["throttled"]), clean / total(run) - 1


TRAPS = {
    "cached part of a file (cache-served-reads)": cache,
    "holes in a file (unwritten-reads)": holes,
    "device throttled midway (throttled, not-steady)": midway,
    "pace that falls all along (not-steady, throttled)": drift,
    "stall of 0.4 s in 3.2 s (outlier-interval)": stall,
    "rate beyond the device (rate-not-reached)": rate,
    "second process on the device (foreign-io)": others,
    "job on a busy processor (generator-bound)": processor,
    "quota of a group above the job's (throttled)": quota_above,
    "direct writes kept by a loop device (cache-absorbed-writes; no doses)": absorbed,
}


def stall_at_end(bench):
    """The device stops for the last fifth of the window."""
    steps = [(0, BASE), (2.56, 40)]
    return (lambda: bench.throttled.course(3.2, [(0, BASE)])), (lambda: bench.throttled.course(3.2, steps))


def sawtooth(bench):
    """The device is free for 0.4 s and limited for 0.4 s, again and again."""
    steps = [(0.4 * i, FREE if i % 2 == 0 else BASE) for i in range(8)]
    return (lambda: bench.throttled.course(3.2, [(0, FREE)])), (lambda: bench.throttled.course(3.2, steps))


def throttle_after_start(bench):
    """The device is limited after a quarter of the window; the twin has the limit from the start."""
    return (lambda: bench.throttled.course(3.2, [(0, BASE)])), (
        lambda: bench.throttled.course(3.2, [(0, FREE), (0.8, BASE)])
    )


def swallowed_flushes(bench):
    """Durable writes on a file system that is mounted without barriers, on a loop device over a file of a real disk."""
    job = WRITES + 'runtime = "2s"\nflush = { call = "fdatasync" }'

    def on(*options):
        image = bench.file("flushes", 96)
        with loop(image, "--direct-io=on") as device, tempfile.TemporaryDirectory(dir=bench.args.dir) as at:
            subprocess.run(["mkfs.ext4", "-q", "-F", device], check=True)
            subprocess.run(["mount", *options, device, at], check=True)
            try:
                path = bench.file(os.path.join(at, "data"), 16)
                return bench.run(path, job, "--destroy-data", path, expected_s=10)
            finally:
                subprocess.run(["umount", at], check=True)

    return on, lambda: on("-o", "barrier=0")


def zeros(bench):
    """Reads of zeros from a device that keeps none, against reads of random data from it."""
    job = READS + 'engine = "psync"\nruntime = "2s"'

    def of(random):
        with open("/sys/class/zram-control/hot_add") as made:
            number = int(made.read())
        device = f"/dev/zram{number}"
        try:
            with open(f"/sys/block/zram{number}/disksize", "w") as out:
                out.write(str(64 * MIB))
            with open(device, "wb") as out:
                for _ in range(64):
                    out.write(os.urandom(MIB) if random else bytes(MIB))
                out.flush()
                os.fsync(out.fileno())
            return bench.run(device, job)
        finally:
            with open(f"/sys/block/zram{number}/reset", "w") as out:
                out.write("1")
            with open("/sys/class/zram-control/hot_remove", "w") as out:
                out.write(str(number))

    return (lambda: of(True)), (lambda: of(False))


def holes_pair(bench):
    """A third of a file is holes; the twin's file has data everywhere."""
    job = READS + 'engine = "psync"\ncaching = "direct"\npasses = 1'
    return punched(bench, lambda path, by: bench.run(path, job, by=by))


def judged(bench):
    """fio's own figures of the same, which `assay judge` weighs."""

    def judge(path, by):
        words = ["--output-format=json+", "--name=j", "--rw=randread", "--bs=4k", "--direct=1", "--ioengine=psync"]
        command = [*by, bench.args.assay, "judge", "--json", "--", "fio", *words, f"--filename={path}"]
        ran = subprocess.run(command, capture_output=True, env=bench.env, cwd=bench.args.dir)
        return json.loads(ran.stdout)

    return punched(bench, judge)


def punched(bench, run):
    def of(dose):
        with bench.throttled.file() as (path, by):
            if dose:
                length = int(dose * FILE_MIB * MIB) // 4096 * 4096
                subprocess.run(["fallocate", "--punch-hole", "-o", "0", "-l", str(length), path], check=True)
                subprocess.run(["sync", "-f", path], check=True)
            return run(path, by)

    return (lambda: of(0)), (lambda: of(1 / 3))


def absorbed_pair(bench):
    """Direct writes through a loop device that keeps them in the page cache; the twin's writes directly."""

    def on(*how):
        with loop(bench.file("absorbs", 64), *how) as device:
            return bench.run(device, WRITES + 'runtime = "2s"', "--destroy-data", device)

    return (lambda: on("--direct-io=on")), on


def quota_pair(bench):
    """Half a processor, by a quota two groups above the job."""
    path = bench.whole_file()
    job = READS + 'engine = "psync"\ncaching = "buffered"\ninvalidate = false\nruntime = "2s"'

    def warm():
        open(path, "rb").read()
        return bench.run(path, job)

    def limited():
        open(path, "rb").read()
        with quota(0.5) as by:
            return bench.run(path, job, by=by, expected_s=8)

    return warm, limited


def others_pair(bench):
    """A second process has a third of the device."""
    job = READS + 'outstanding = 4\nramp = "300ms"\nruntime = "1200ms"'
    image = bench.whole_file("image")

    def alone(rival=None):
        with bench.throttled.device(image, "--direct-io=on") as (device, limit, by):
            limit(BASE)
            if not rival:
                return bench.run(device, job, by=by)
            other = bench.start(device, f'{READS}outstanding = 4\nruntime = "4s"\nrate = {rival}', by=by)
            try:
                time.sleep(0.9)
                return bench.run(device, job, by=by)
            finally:
                other.terminate()
                other.communicate()

    return alone, lambda: alone(int(BASE * 0.35))


def stops_pair(engine, depth, stop_ms, every_ms, freeze=False):
    """The whole process does not run for a part of each period: stopped by a signal, or frozen with its control group."""

    def stage(bench):
        path = bench.whole_file()
        job = READS + f'engine = "{engine}"\noutstanding = {depth}\nruntime = "2s"'

        def staged():
            with (freezer() if freeze else contextlib.nullcontext(((), None))) as (by, switch):
                process = bench.start(path, job, by=by)
                switch = switch or (lambda on: process.send_signal(signal.SIGSTOP if on else signal.SIGCONT))
                # Its output is read meanwhile: a full pipe would hold it up.
                with concurrent.futures.ThreadPoolExecutor(1) as reader:
                    ended = reader.submit(bench.end, process)
                    while not ended.done():
                        for on, ms in ((True, stop_ms), (False, every_ms - stop_ms)):
                            switch(on)
                            time.sleep(ms / 1000)
                    return ended.result()

        return (lambda: bench.run(path, job)), staged

    return stage


@contextlib.contextmanager
def freezer():
    """How to start a process in a group, and what freezes and thaws it (version 1)."""
    path = f"/sys/fs/cgroup/freezer/assay-qualify-{os.getpid()}"
    os.mkdir(path)

    def switch(on):
        with open(os.path.join(path, "freezer.state"), "w") as out:
            out.write("FROZEN" if on else "THAWED")

    try:
        yield ["sh", "-c", f'echo $$ > {path}/cgroup.procs && exec "$0" "$@"'], switch
    finally:
        switch(False)
        time.sleep(0.1)
        os.rmdir(path)


# What is staged, what has to find it, and the two runs of a pair: the twin's and the staged one's.
PAIRS = {
    "direct writes kept by a loop device": (["cache-absorbed-writes"], absorbed_pair),
    # On a busy machine others take the processor before the quota is used up.
    "quota of half a processor above the job": (["throttled", "generator-bound"], quota_pair),
    "stall at the end of the window": (["outlier-interval", "throttled", "not-steady"], stall_at_end),
    "sawtooth": (["outlier-interval", "throttled", "not-steady"], sawtooth),
    "throttle after the start": (["throttled", "not-steady"], throttle_after_start),
    "swallowed flushes": (["volatile-write-cache"], swallowed_flushes),
    "second process on the device": (["foreign-io"], others_pair),
    "holes in a file": (["unwritten-reads"], holes_pair),
    "reads of zeros": (["unwritten-reads", "compressible-data"], zeros),
    "fio's figures, judged: holes in a file": (["unwritten-reads"], judged),
    "stopped 10 of 20 ms, psync": (["generator-bound", "outlier-interval"], stops_pair("psync", 1, 10, 20)),
    "stopped 20 of 40 ms, io_uring": (["generator-bound", "outlier-interval"], stops_pair("io_uring", 8, 20, 40)),
    "frozen 10 of 20 ms": (["generator-bound", "outlier-interval"], stops_pair("psync", 1, 10, 20, freeze=True)),
}


def pair(bench, ids, stage, index):
    """The finding of the staged run, and by which share its figure is off the twin's: above 0 in the direction that is stated."""
    twin, staged = stage(bench)
    # Twins take turns, so that what drifts is on both sides.
    runs = {}
    for which in ("twin", "staged") if index % 2 == 0 else ("staged", "twin"):
        runs[which] = (twin if which == "twin" else staged)()
    # Of several that speak of it one that states a range, else the gravest.
    spoke = [one for one in (finding(runs["staged"], [id_]) for id_ in ids) if one]
    found = next((one for one in spoke if stated(one["bias"])), spoke[0] if spoke else None)
    ratio = total(runs["staged"]) / total(runs["twin"])
    said = direction(found["bias"]) if found else 0
    low = said < 0 or (said == 0 and ratio < 1)
    return found and {key: found[key] for key in ("id", "severity", "bias")}, low, 1 / ratio - 1 if low else ratio - 1


def pairs_table(bench, name, ids, stage, count):
    print(f"\n### {name}\n")
    print("| pair | found | stated | measured | covered |")
    print("|--:|---|---|--:|---|")
    covered = said = 0
    for index in range(count):
        try:
            found, low, real = bench.once(("pair", name, index), lambda: pair(bench, ids, stage, index))
        except (Discard, OSError, RuntimeError, subprocess.CalledProcessError) as why:
            print(f"| {index + 1} | not staged: {why} | | | |", flush=True)
            continue
        measured = f"{percent(real)} {'low' if low else 'high'}"
        range_ = found and stated(found["bias"], low)
        verdict = "-"
        if range_:
            said, holds = said + 1, covers(range_, real)
            covered, verdict = covered + holds, "yes" if holds else "no"
        what = f"{found['id']} ({found['severity']})" if found else "nothing"
        words = found["bias"] if found else ""
        print(f"| {index + 1} | {what} | {words}{'' if range_ or not found else ' [words only]'} | {measured} | {verdict} |", flush=True)
    print(f"\ncovered {covered} of {count}" + (f" ({count - said} without a range)" if said < count else ""), flush=True)


def interval(k, n):
    """Clopper and Pearson, 95 %."""

    def tail(p, upto):
        return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(upto + 1))

    def solve(good):
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if good(middle) else (low, middle)
        return low

    low = 0.0 if k == 0 else solve(lambda p: 1 - tail(p, k - 1) < 0.025)
    high = 1.0 if k == n else solve(lambda p: tail(p, k) > 0.025)
    return low, high


def trial(bench, trap, dose):
    # Beside others of its kind the machine is never idle, and need not be.
    throttled = trap in THROTTLED
    for attempt in range(5):
        deadline = time.monotonic() + (0 if throttled else bench.args.patience)
        while time.monotonic() < deadline and not quiet():
            time.sleep(0.5)
        try:
            found, real = trap(bench, dose)
        except Discard:
            bench.discarded += 1
            continue
        if throttled or attempt >= bench.args.retries or quiet():
            return found and {"bias": found["bias"]}, real
        bench.discarded += 1
    raise RuntimeError("a trial took much too long five times: is the machine stopped now and then?")


def percent(share):
    if math.isinf(share):
        return "open"
    return f"{100 * share:.1f} %" if abs(share) < 0.1 else f"{100 * share:.0f} %"


THROTTLED = [cache, holes, midway, drift, stall, rate]


def trials_of(bench, name, trap, dose, trials):
    """What was found and the real bias of every trial of a dose."""

    def one(index):
        return bench.once((name, dose, index), lambda: trial(bench, trap, dose))

    if trap not in THROTTLED:
        return [one(index) for index in range(trials)]
    with concurrent.futures.ThreadPoolExecutor(ABREAST) as pool:
        return list(pool.map(one, range(trials)))


def table(bench, name, trap, doses, trials):
    print(f"\n### {name}\n")
    print("| dose | trials | found | 95 % interval | real bias, median (range) | stated, median | real within stated |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for dose in doses:
        seen = trials_of(bench, name, trap, dose, trials)
        found = [f for f, _ in seen if f]
        reals = [real for _, real in seen]
        low, high = interval(len(found), trials)
        ranges = [(stated(f["bias"]), real) for f, real in seen if f and stated(f["bias"])]
        within = sum(covers(said, real) for said, real in ranges)
        said = percent(statistics.median(r[1] for r, _ in ranges)) if ranges else "in words"
        print(
            f"| {percent(dose)} | {trials} | {len(found)} | {percent(low)} to {percent(high)} "
            f"| {percent(statistics.median(reals))} ({percent(min(reals))} to {percent(max(reals))}) "
            f"| 0 to {said} | {f'{within} of {len(ranges)}' if ranges else '-'} |",
            flush=True,
        )


def clean_run(bench, index):
    """The checks that speak gravely of a run with nothing staged."""
    path = bench.path("clean")
    if not os.path.exists(path):
        bench.file("clean", 128)
    job = 'op = "read"\npattern = "random"\nruntime = "2500ms"\n'
    job += ["outstanding = 1", "outstanding = 8", 'block_size = "16k"\noutstanding = 4'][index % 3]
    job = job if "block_size" in job else job + '\nblock_size = "4k"'
    for attempt in range(5):
        deadline = time.monotonic() + bench.args.patience
        while time.monotonic() < deadline and not quiet():
            time.sleep(0.5)
        try:
            run = bench.run(path, job)
        except Discard:
            bench.discarded += 1
            continue
        if attempt >= bench.args.retries or quiet():
            return sorted({f["id"] for f in run["findings"] if f["severity"] in ("warning", "invalid")})
        bench.discarded += 1
    raise RuntimeError("a run took much too long five times: is the machine stopped now and then?")


def clean(bench, count):
    runs = [bench.once(("clean", index), lambda: clean_run(bench, index)) for index in range(count)]
    flagged, causes = sum(bool(grave) for grave in runs), {}
    for one in (one for grave in runs for one in grave):
        causes[one] = causes.get(one, 0) + 1
    low, high = interval(flagged, count)
    print(f"\n### Clean runs\n\n{flagged} of {count} runs with nothing staged were flagged: {percent(low)} to {percent(high)} at 95 %.")
    if causes:
        print("Flagged by: " + ", ".join(f"{one} ({n})" for one, n in sorted(causes.items())) + ".")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assay", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--doses", default="2,5,10,20,35,50")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--clean", type=int, default=30)
    parser.add_argument("--pairs", type=int, default=0, help="pairs of each staging, instead of doses and clean runs")
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for a quiet machine")
    parser.add_argument("--keep", help="file of trials, to stop and take up")
    parser.add_argument("--retries", type=int, default=4, help="repeats of a trial that something else disturbed")
    args = parser.parse_args()
    args.assay = os.path.abspath(args.assay)
    bench = Bench(args)
    bench.throttled = Throttled(bench)
    if args.pairs:
        for name, (ids, stage) in PAIRS.items():
            if not args.only or any(word in name for word in args.only):
                pairs_table(bench, name, ids, stage, args.pairs)
        return
    doses = [float(dose) / 100 for dose in args.doses.split(",")]
    for name, trap in TRAPS.items():
        if not args.only or any(word in name for word in args.only):
            table(bench, name, trap, doses, args.trials)
    if args.clean:
        clean(bench, args.clean)
    print(f"\n{bench.discarded} trials or clean runs were repeated because something else used the machine meanwhile.")


if __name__ == "__main__":
    main()
