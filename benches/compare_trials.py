#!/usr/bin/env python3
"""How often `assay compare` calls equal runs different, for real.

`benches/compare_trials.py --assay BINARY --dir DIR [--groups 30] [--runs 5]`

Runs of one plan are made one after the other and dealt to two sides in turns, `runs` to each side of a group. Compared
are the sides of each group, runs speaking for themselves; and neighbouring single runs, once with nothing known of other
runs and once with all runs stored. What is in DIR already is not made again, so that it can be stopped and taken up.
Output is Markdown on stdout.
"""

import argparse
import collections
import glob
import json
import os
import subprocess
import sys

from traps import interval, percent

PLAN = """name = "same"
target = [{ name = "data", path = "data.bin", size = "32m" }]

[[phase]]
name = "reads"
repeat = 3

[[phase.job]]
op = "read"
block_size = "4k"
pattern = "random"
outstanding = 8
runtime = "150ms"
ramp = "20ms"

[[phase]]
name = "writes"
repeat = 3

[[phase.job]]
op = "write"
block_size = "16k"
pattern = "random"
outstanding = 4
runtime = "150ms"
ramp = "20ms"
"""


class Bench:
    def __init__(self, args):
        self.assay = os.path.abspath(args.assay)
        self.dir = os.path.abspath(args.dir)
        self.store = os.path.join(self.dir, "runs")
        self.empty = os.path.join(self.dir, "no-runs")
        os.makedirs(self.store, exist_ok=True)
        os.makedirs(self.empty, exist_ok=True)
        self.plan = os.path.join(self.dir, "plan.toml")
        with open(self.plan, "w") as out:
            out.write(PLAN)

    def runs(self):
        """Directories of the finished runs, the oldest first."""
        return [os.path.dirname(path) for path in sorted(glob.glob(os.path.join(self.store, "*", "run.json")))]

    def measure(self):
        env = {**os.environ, "ASSAY_RUNS": self.store}
        command = [self.assay, "--quiet", "run", self.plan, "--target", self.dir]
        subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)

    def verdicts(self, first, second, store):
        """How often each word was said, and how many figures were held against a measured spread."""
        env = {**os.environ, "ASSAY_RUNS": store}
        command = [self.assay, "compare", *first, "--vs", *second, "--json"]
        out = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        judged = [
            metric["judgement"]
            for pair in json.loads(out)["pairs"]
            for test in pair["tests"]
            for metric in test["metrics"]
            if metric["judgement"]
        ]
        return collections.Counter(one["verdict"] for one in judged)


def row(name, comparisons):
    """A line of the table: comparisons with any better or worse."""
    alarms = sum(bool(words["better"] + words["worse"]) for words in comparisons)
    total = sum(comparisons, collections.Counter())
    low, high = interval(alarms, len(comparisons))
    words = ", ".join(f"{count} {word.replace('_', ' ')}" for word, count in sorted(total.items()))
    print(f"| {name} | {alarms} of {len(comparisons)} | {percent(low)} to {percent(high)} | {words} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assay", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--groups", type=int, default=30)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    bench = Bench(args)
    wanted = 2 * args.runs * args.groups
    have = len(bench.runs())
    for index in range(have, wanted):
        bench.measure()
        if (index + 1) % 25 == 0:
            print(f"{index + 1} of {wanted} runs", file=sys.stderr, flush=True)
    runs = bench.runs()[:wanted]
    groups = [runs[at : at + 2 * args.runs] for at in range(0, wanted, 2 * args.runs)]
    pairs = [group[:2] for group in groups]
    print("| A/A comparisons, for real | with a better or worse | 95 % interval | figures |")
    print("|---|--:|--:|---|")
    row(
        f"{args.runs} runs against {args.runs}",
        [bench.verdicts(group[::2], group[1::2], bench.empty) for group in groups],
    )
    row("one run against one, nothing known of others", [bench.verdicts([a], [b], bench.empty) for a, b in pairs])
    row("one run against one, the others stored", [bench.verdicts([a], [b], bench.store) for a, b in pairs])


if __name__ == "__main__":
    main()
