#!/usr/bin/env python3
"""Twelve tests of series stb-2.1 through Assay and through real fio with the published parameters, on the same files,
interleaved: `benches/quick_series.py --dir DIR [--pairs 7] [--rows 2 4 ..]`. Prints IOPS of both and their ratio."""

import argparse
import os
import statistics
import subprocess
import tempfile

import pairs

COMMON = """--fallocate=none --group_reporting --verify=0 --disable_lat=1 --disable_clat=1 --disable_slat=1 --clat_percentiles=0
--refill_buffers --randrepeat=0 --output-format=json --name=test""".split()
ONE, MANY, TIMED = ["--size=512M", "--numjobs=1"], ["--size=32M", "--numjobs=16"], ["--runtime=5", "--time_based"]


def options(many, rw, bs, engine, depth, *more):
    return [*(MANY if many else ONE), *TIMED, f"--rw={rw}", f"--bs={bs}", f"--ioengine={engine}", f"--iodepth={depth}", *more]


ROWS = {
    2: ("1 file, 1 thread, rnd 16k writes, simple", options(0, "randwrite", "16k", "sync", 1, "--fdatasync=1")),
    4: ("1 file, 16 threads, rnd 4k writes, posixaio", options(0, "randwrite", "4k", "posixaio", 16, "--fdatasync=1")),
    6: ("1 file, 16 threads, rnd 16k writes, posixaio", options(0, "randwrite", "16k", "posixaio", 16, "--fdatasync=1")),
    9: ("16 files, 1 thread each, rnd 16k writes, simple", options(1, "randwrite", "16k", "sync", 1, "--fdatasync=1")),
    12: ("16 files, 16 threads each, rnd 16k writes, posixaio", options(1, "randwrite", "16k", "posixaio", 16, "--fdatasync=1")),
    14: ("1 file, 1 thread, rnd 16k writes, simple, o_sync", options(0, "randwrite", "16k", "sync", 1, "--sync=1")),
    15: ("1 file, 16 threads, rnd 16k writes, posixaio, o_sync", options(0, "randwrite", "16k", "posixaio", 16, "--sync=1")),
    16: ("16 files, 1 thread each, rnd 16k writes, simple, o_sync", options(1, "randwrite", "16k", "sync", 1, "--sync=1")),
    18: ("1 file, 1 thread, seq 1M reads, simple", options(0, "read", "1M", "sync", 1, "--invalidate=1")),
    19: ("1 file, 16 threads, rnd 16k reads, posixaio", options(0, "randread", "16k", "posixaio", 16, "--sync=1", "--invalidate=1")),
    22: ("16 files, 16 threads each, rnd 16k reads, posixaio", options(1, "randread", "16k", "posixaio", 16, "--sync=1", "--invalidate=1")),
    23: ("1 file, 16 threads, rnd 16k writes, native aio", options(0, "randwrite", "16k", "libaio", 16, "--fdatasync=1")),
}


def fio_iops(out):
    import json
    job = json.loads(out[out.index("{") :])["jobs"][0]
    return job["read"]["iops"] + job["write"]["iops"], job["read"]["total_ios"] + job["write"]["total_ios"], {}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--assay", default="target/release/assay")
    parser.add_argument("--dir", required=True)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--rows", type=int, nargs="*", default=list(ROWS))
    args = parser.parse_args()
    args.assay = os.path.abspath(args.assay)
    runs = tempfile.mkdtemp(prefix="assay-bench-runs-")
    env = {"ASSAY_RUNS": runs}
    quick = [args.assay, "quick", args.dir, "--series", "stb-2.1", "--quiet", "--json", "--test"]
    # The first test of each file series lays the files out, for both.
    for name in ("1 file, 1 thread, seq 1M writes, simple", "16 files, 1 thread each, seq 1M writes, simple"):
        subprocess.run([*quick, name], check=True, stdout=subprocess.DEVNULL, env={**os.environ, **env})
    files = os.path.join(args.dir, "assay-quick")
    print("| # | test | Assay IOPS | fio IOPS | ratio | interval | |\n|---:|---|---:|---:|---:|---|---|", flush=True)
    for row in args.rows:
        name, fio_options = ROWS[row]
        def fio():
            command = ["fio", f"--directory={files}", *COMMON, *fio_options]
            return pairs.execute(command, fio_iops)
        variants = {"assay": lambda: pairs.execute([*quick, name], pairs.parse_assay, environment=env), "fio": fio}
        kept = pairs.rounds(variants, args.pairs, retries=1)
        ratio, low, high = pairs.ratios(kept, "assay", "fio", lambda r: r.iops)
        med = lambda who: statistics.median(r[who].iops for r in kept)
        inside = "inside" if low >= 0.9 and high <= 1.15 else "OUTSIDE"
        print(f"| {row} | {name} | {med('assay'):,.0f} | {med('fio'):,.0f} | {ratio:.3f} | {low:.2f} to {high:.2f} | {inside} |", flush=True)


if __name__ == "__main__":
    main()
