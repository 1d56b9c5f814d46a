#!/usr/bin/env python3
"""The generator's own cost against fio's, path by path: `benches/speed.py --dir DIR [--only NAME ..] [--pairs 7]`.

The sparse file is a yardstick for CPU cost, not a storage result: reads of holes complete inside the system call.
"""

import argparse
import os
import subprocess
import tempfile
import time

import pairs

FIO = "fio"


def fio(options, name="job"):
    return [FIO, "--output-format=json", f"--name={name}"] + [f"--{k}={v}" for k, v in options.items()]


class Bench:
    def __init__(self, args):
        self.args, self.dir = args, args.dir
        self.runs = tempfile.mkdtemp(prefix="assay-bench-runs-")

    def path(self, name):
        return os.path.join(self.dir, name)

    def assay(self, options, extra=()):
        """The same options as a job file, run by Assay."""
        text = "[global]\n" + "".join(f"{k}={v}\n" for k, v in options.items()) + "[job]\n"
        handle = tempfile.NamedTemporaryFile("w", suffix=".fio", delete=False)
        handle.write(text)
        handle.close()
        command = [self.args.assay, "run", handle.name, "--target", self.dir, "--json", "--quiet", *extra]
        return lambda: pairs.execute(command, pairs.parse_assay, self.args.cpu, {"ASSAY_RUNS": self.runs})

    def fio(self, options):
        return lambda: pairs.execute(fio(options), pairs.parse_fio, self.args.cpu)

    def bare(self, path, depth, direct=True):
        command = [self.args.bare, path, str(depth), str(self.args.seconds), "direct" if direct else "buffered"]
        parse = lambda out: (float(out.split()[0]), int(out.split()[1]), {})
        return lambda: pairs.execute(command, parse, self.args.cpu)

    def job(self, path, depth, engine, **more):
        options = dict(filename=path, size=more.pop("size", "16g"), rw="randread", bs="4k", direct=1, ioengine=engine)
        options.update(iodepth=depth, time_based=1, runtime=self.args.seconds, **more)
        return options

    def settled(self, run):
        """What the run before left to be written is not for this one to wait for."""
        def execute():
            os.sync()
            time.sleep(1)
            return run()
        return execute

    def run(self, title, variants):
        if self.args.only and not any(word in title for word in self.args.only):
            return
        kept = pairs.rounds(variants, self.args.pairs, self.args.retries)
        pairs.table(title, kept, next(iter(variants)))

    def tuned(self, options):
        batch = {f"iodepth_batch_{what}": options["iodepth"] for what in ("submit", "complete_min", "complete_max")}
        return {**options, **batch, "registerfiles": 1, "fixedbufs": 1}

    def sparse(self):
        path = self.path("sparse.dat")
        with open(path, "wb") as f:
            f.truncate(16 << 30)
        deep, single = self.job(path, 32, "io_uring"), self.job(path, 1, "io_uring")
        self.run("sparse 32 outstanding, io_uring", {
            "assay": self.assay(deep),
            "fio as people run it": self.fio(deep),
            "fio tuned, batches of 32": self.fio(self.tuned(deep)),
            "bare-bones ring": self.bare(path, 32),
        })
        self.run("sparse 1 outstanding, io_uring", {
            "assay": self.assay(single), "fio": self.fio(single), "bare-bones ring": self.bare(path, 1),
        })
        psync = self.job(path, 1, "psync")
        self.run("sparse 1 outstanding, psync", {"assay": self.assay(psync), "fio": self.fio(psync)})
        libaio = self.job(path, 32, "libaio")
        self.run("sparse 32 outstanding, libaio", {"assay": self.assay(libaio), "fio": self.fio(libaio)})
        os.unlink(path)

    def real(self):
        path = self.path("real.dat")
        lay = dict(filename=path, size="2g", rw="write", bs="1m", direct=1, ioengine="libaio", iodepth=8, end_fsync=1)
        if not os.path.exists(path) or os.path.getsize(path) != 2 << 30:
            subprocess.run(fio(lay), check=True, stdout=subprocess.DEVNULL)
        for depth in (1, 32):
            job = {**self.job(path, depth, "io_uring", size="2g"), "direct": 0, "invalidate": 0}
            variants = {"assay": self.assay(job), "fio": self.fio(job), "bare-bones ring": self.bare(path, depth, False)}
            warm = {name: self.warmed(path, run) for name, run in variants.items()}
            self.run(f"buffered warm, {depth} outstanding, io_uring", warm)
        job = self.job(path, 32, "io_uring", size="2g")
        self.run("virtual disk direct, 32 outstanding, io_uring", {
            "assay": self.assay(job), "fio as people run it": self.fio(job), "bare-bones ring": self.bare(path, 32),
        })
        os.unlink(path)

    def warmed(self, path, run):
        def execute():
            with open(path, "rb", buffering=0) as f:
                while f.read(1 << 20):
                    pass
            return run()
        return execute

    def null(self):
        for depth in (1, 32):
            theirs = dict(self.job("null", depth, "null"), direct=0)
            parse = lambda out, d=depth: parse_self(out, d)
            command = [self.args.assay, "bench-self", "--json", "--seconds", str(self.args.seconds), "--outstanding", str(depth)]
            mine = lambda c=command, p=parse: pairs.execute(c, p, self.args.cpu)
            self.run(f"framework alone, null engine, {depth} outstanding", {"assay": mine, "fio": self.fio(theirs)})

    def data(self):
        """Bytes made and checked: 128 KiB writes through the engine that does nothing, then write and read back in memory."""
        base = dict(self.job("null", 1, "null", rw="write"), bs="128k", direct=0, refill_buffers=1)
        for title, more in [
            ("random bytes, refill_buffers", {}),
            ("half compressible, buffer_compress_percentage=50", dict(buffer_compress_percentage=50)),
        ]:
            job = {**base, **more}
            self.rate(f"data made, {title}", {"assay": self.assay(job), "fio": self.fio(job)}, 128 << 10)
        path = os.path.join(self.args.memory, "assay-verify.dat")
        job = dict(filename=path, size="1g", rw="write", bs="128k", ioengine="psync", fallocate="none", invalidate=0)
        for title, fill in [("", {}), (", refill_buffers", dict(refill_buffers=1))]:
            theirs = self.fio({**job, **fill, "verify": "crc32c", "do_verify": 1})
            self.rate(f"written and verified, crc32c{title}", {"assay": self.verified(path, fill), "fio": theirs}, 128 << 10)
        if os.path.exists(path):
            os.unlink(path)

    def verified(self, path, fill):
        content = '{ verify = true, refresh = "every-write" }' if fill else "{ verify = true }"
        common = f'block_size = "128k"\npattern = "sequential"\nengine = "psync"\ncaching = "buffered"\npasses = 1\n'
        text = f'name = "verified"\n[[target]]\nname = "data"\npath = "{path}"\nsize = "1g"\n'
        for op in ("write", "read"):
            text += f'[[phase]]\nname = "{op}"\n[[phase.job]]\nop = "{op}"\n{common}content = {content}\ninvalidate = false\n'
        handle = tempfile.NamedTemporaryFile("w", suffix=".toml", delete=False)
        handle.write(text)
        handle.close()
        command = [self.args.assay, "run", handle.name, "--destroy-data", path, "--json", "--quiet"]
        return lambda: pairs.execute(command, pairs.parse_assay, self.args.cpu, {"ASSAY_RUNS": self.runs})

    def rate(self, title, variants, block):
        """As run(), in bytes per second of processor time."""
        if self.args.only and not any(word in title for word in self.args.only):
            return
        kept = pairs.rounds(variants, self.args.pairs, self.args.retries)
        print(f"\n### {title} ({len(kept)} interleaved repetitions)\n")
        print("| variant | GB/s per core, user time | GB/s per core, all time | ratio, user [interval] | ratio, all [interval] |")
        print("|---|---:|---:|---:|---:|")
        for name in kept[0]:
            med = lambda f: pairs.statistics.median(f(r[name]) for r in kept)
            row = f"| {name} | {med(lambda r: block / r.user_ns):.2f} | {med(lambda r: block / r.cpu_ns):.2f} |"
            if name != "assay":
                for value in (lambda r: 1 / r.user_ns, lambda r: 1 / r.cpu_ns):
                    ratio = pairs.ratios(kept, "assay", name, value)
                    row += f" {ratio[0]:.2f} [{ratio[1]:.2f}, {ratio[2]:.2f}] |"
            print(row, flush=True)

    def mixed(self):
        base = dict(directory=self.dir, size="32m", numjobs=16, rw="randrw", rwmixread=70, bs="8k", group_reporting=1)
        base.update(time_based=1, runtime=self.args.seconds)
        for title, more in [
            ("direct io_uring 4", dict(direct=1, ioengine="io_uring", iodepth=4)),
            ("direct libaio 4", dict(direct=1, ioengine="libaio", iodepth=4)),
            ("buffered psync", dict(direct=0, ioengine="psync")),
            # A file system that is rewritten in the order of the run before has less to do than one that is not.
            ("buffered psync, new addresses in each run", dict(direct=0, ioengine="psync", randrepeat=0)),
            ("buffered io_uring 4", dict(direct=0, ioengine="io_uring", iodepth=4)),
            ("buffered psync fdatasync=8", dict(direct=0, ioengine="psync", fdatasync=8)),
            ("direct psync sync=1", dict(direct=1, ioengine="psync", sync=1)),
        ]:
            job = {**base, **more}
            cpu, self.args.cpu = self.args.cpu, None
            variants = {"assay": self.assay(job), "fio": self.fio(job)}
            settled = {name: self.settled(run) for name, run in variants.items()}
            self.run(f"70/30 8k, 16 jobs, {title}", settled)
            self.args.cpu = cpu


def parse_self(out, depth):
    import json
    cost = next(c for c in json.loads(out)["costs"] if c["outstanding_io"] == depth)
    return cost["iops"], cost["ios"], {}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--assay", default="target/release/assay")
    parser.add_argument("--bare", default="target/release/examples/bare_ring")
    parser.add_argument("--dir", required=True, help="a directory on the file system to use; files are made and removed")
    parser.add_argument("--memory", default="/dev/shm", help="a directory in memory, for the bytes themselves")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--retries", type=int, default=4, help="how often a repetition that was disturbed is tried")
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--cpu", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[])
    args = parser.parse_args()
    bench = Bench(args)
    for part in (bench.sparse, bench.real, bench.null, bench.data, bench.mixed):
        part()


if __name__ == "__main__":
    main()
