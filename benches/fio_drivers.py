#!/usr/bin/env python3
"""Three programs from PyPI that drive fio, unchanged, on the command `fio`: once fio itself, once Assay by that name.

    benches/fio_drivers.py VENV DIR [--assay BINARY] [--fio BINARY]

VENV has fio-plot, auto-fio and cdmpy. What the two sides leave is compared: names of files, columns of logs, members of results,
lines of output without their numbers. What Assay's side reports is looked up in the run.json of each run.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

NUMBER = re.compile(r"\d+(?:\.\d+)?")
# What both round: shares of a per cent.
TOLERANCE = 0.006
BENCH = "-t file -s 16m -b 4k --iodepth 1 8 --numjobs 1 2 -m randread randwrite --runtime 4 --quiet --destructive --time-based".split()


def stored(where):
    """The runs that Assay keeps, by id."""
    runs = {}
    for path in sorted((where / "runs").glob("*/run.json")):
        run = json.loads(path.read_text())
        runs[run["id"]] = run
    return runs


def members(value, path=""):
    """The paths of the members of a document, those of Assay's own apart."""
    if isinstance(value, dict):
        return {one for name, inner in value.items() if name != "assay" for one in {f"{path}/{name}"} | members(inner, f"{path}/{name}")}
    if isinstance(value, list):
        return {one for inner in value for one in members(inner, path)}
    return set()


def plain(text):
    return NUMBER.sub("#", re.sub(r"\s+", " ", text)).strip()


def equal(printed, kept):
    return abs(printed - kept) <= max(abs(kept) * TOLERANCE, 1)


def columns(path):
    lines = path.read_text().splitlines()
    return sorted({len(line.split(",")) for line in lines}), len(lines)


class Side:
    """One of the two, in a directory of its own."""

    def __init__(self, name, binary, where, venv):
        self.name, self.dir, self.venv = name, where / name, venv
        (self.dir / "bin").mkdir(parents=True)
        (self.dir / "bin" / "fio").symlink_to(os.path.realpath(binary))
        path = f"{self.dir}/bin:{venv}/bin:{os.environ['PATH']}"
        # The file that bench-fio is to overwrite is not one that Assay made: it is named once.
        own = {"ASSAY_RUNS": str(self.dir / "runs"), "ASSAY_CONSENT": str(self.dir / "target")}
        self.environment = {**os.environ, "PATH": path, **own}

    def run(self, *words):
        """Standard output and error of a driver."""
        done = subprocess.run(
            [self.venv / "bin" / words[0], *words[1:]], cwd=self.dir, env=self.environment, capture_output=True, text=True
        )
        if done.returncode != 0:
            sys.exit(f"{self.name}: {words[0]} ended with {done.returncode}: {done.stderr[-600:] or done.stdout[-600:]}")
        return done.stdout, done.stderr


def bench_fio(sides):
    found = {}
    for side in sides:
        target = side.dir / "target"
        target.write_bytes(os.urandom(1 << 20) * 16)
        side.run("bench-fio", "-d", str(target), *BENCH, "-o", str(side.dir / "bench"))
        files = {path.relative_to(side.dir / "bench"): path for path in (side.dir / "bench").rglob("*") if path.is_file()}
        found[side.name] = files
    ours, theirs = found["assay"], found["fio"]
    print(f"bench-fio: files {len(ours)} and {len(theirs)}; by name: {'equal' if set(ours) == set(theirs) else set(ours) ^ set(theirs)}")
    logs = [name for name in sorted(ours) if name.suffix == ".log" and name in theirs]
    unequal = [str(name) for name in logs if columns(ours[name])[0] != columns(theirs[name])[0]]
    print(f"  columns of {len(logs)} logs: {'equal' if not unequal else unequal}")
    results = [name for name in sorted(ours) if name.suffix == ".json" and name in theirs]
    missing, compared, wrong = set(), 0, []
    runs = stored(sides[0].dir)
    for name in results:
        ours_read, theirs_read = (json.loads(side[name].read_text()) for side in (ours, theirs))
        missing |= members(theirs_read) - members(ours_read)
        kept = runs[ours_read["assay"]["run"]]["phases"]
        jobs = [job for phase in kept if phase["kind"] == "measure" for job in phase["jobs"]]
        for op in ("read", "write"):
            parts = [job[op] for job in jobs if job.get(op)]
            reported = [job[op] for job in ours_read["jobs"]]
            pairs = [
                (sum(one["total_ios"] for one in reported), sum(part["ios"] for part in parts)),
                (sum(one["io_bytes"] for one in reported), sum(part["bytes"] for part in parts)),
                (sum(one["iops"] for one in reported), sum(part["iops"] for part in parts)),
            ]
            if len(parts) == 1 and len(reported) == 1:
                lat, own = reported[0]["lat_ns"], parts[0]["completion_ns"]
                pairs += [(lat["mean"], own["mean"]), (lat["max"], own["max"])]
            compared += len(pairs)
            wrong += [f"{name} {op}: {a} for {b}" for a, b in pairs if not equal(a, b)]
    # Buckets and percentiles are named by their values.
    missing = {path for path in missing if not re.search(r"/\d|latency_|/disk_util", path)}
    print(f"  members of {len(results)} results that only fio has: {sorted(missing) or 'none'}")
    print(f"  {compared} figures against run.json: {'equal' if not wrong else wrong[:5]}")
    for side in sides:
        folder = next(path.parent for path in (side.dir / "bench").rglob("*.json"))
        side.run("fio-plot", "-i", str(folder), "-T", "drivers", "-r", "randread", "-l", "-o", "bars.png")
        side.run("fio-plot", "-i", str(folder), "-T", "drivers", "-r", "randread", "-g", "-t", "iops", "-d", "8", "-n", "1", "-o", "lines.png")
        pictures = sorted(path.name for path in side.dir.glob("*.png"))
        print(f"  fio-plot, {side.name}: {', '.join(pictures)}")


def auto_fio(sides):
    texts = [side.run("auto-fio", "--backend", "fio", "--file-size", str(16 << 20), "--json", str(side.dir))[0] for side in sides]
    documents = [json.loads(text) for text in texts]
    print(f"auto-fio: members {'equal' if members(documents[0]) == members(documents[1]) else 'differ'}")
    printed = [float(number) for number in re.findall(r'"(?:throughput|mb_s|MBps|speed)[^"]*": ([\d.]+)', texts[0])]
    printed = printed or [value for one in documents[0].get("measurements", []) for value in list(one.values())[1:2] if isinstance(value, (int, float))]
    kept = [job["read"]["bytes_per_s"] / (1 << 20) for run in stored(sides[0].dir).values() for phase in run["phases"] for job in phase["jobs"] if job.get("read")]
    lost = [number for number in printed if not any(equal(number, own) for own in kept)]
    print(f"  {len(printed)} figures against run.json: {'equal' if not lost else lost}")


def cdm(sides):
    outputs = [side.run("cdm", "-n", "1", "-s", "16m", str(side.dir))[0] for side in sides]
    rows = [[plain(line) for line in text.splitlines() if "|" in line] for text in outputs]
    print(f"cdmpy: {len(rows[0])} lines of its table {'equal but for numbers' if rows[0] == rows[1] else 'differ'}")
    ops = [job[op] for run in stored(sides[0].dir).values() for phase in run["phases"] for job in phase["jobs"] for op in ("read", "write") if job.get(op)]
    kept = [value for op in ops for value in (op["bytes_per_s"] / 1e6, op["iops"], op["completion_ns"]["mean"] / 1e3)]
    cells = [cell for line in outputs[0].splitlines() if "|" in line for cell in line.split("|")[2:4]]
    printed = [float(cell) for cell in cells if re.fullmatch(r"\s*[\d.]+\s*", cell)]
    lost = [number for number in printed if not any(equal(number, own) for own in kept)]
    print(f"  {len(printed)} figures against run.json: {'equal' if printed and not lost else lost or 'none found'}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("venv", type=Path)
    options.add_argument("dir", type=Path)
    options.add_argument("--assay", default=os.environ.get("ASSAY", "target/release/assay"))
    options.add_argument("--fio", default="/usr/bin/fio")
    given = options.parse_args()
    venv, where = given.venv.resolve(), given.dir.resolve()
    sides = [Side(name, binary, where, venv) for name, binary in (("assay", given.assay), ("fio", given.fio))]
    for driver in (bench_fio, auto_fio, cdm):
        driver(sides)


if __name__ == "__main__":
    main()
