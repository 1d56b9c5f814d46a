#!/usr/bin/env python3
"""fio's own tests of job files (t/run-fio-tests.py) with Assay in the place of fio, and real fio beside it.

    benches/fio_suite.py SOURCE [--assay BINARY] [--fio BINARY] [--only N ..] [--all]

SOURCE is a tree of fio's sources; nothing of it is kept here. Its test program imports statsmodels. Without --all, tests that need
programs built from the sources (numbers from 1000 on) are left out. A table goes to stdout, what failed and why below it.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

RESULT = re.compile(r"^Test (\d+) (PASSED|FAILED|SKIPPED):?(.*)$")
REASON_CHARS = 160


def run(source, binary, artifacts, only, everything):
    """Number of each test: its result, and the reason where there is one."""
    # Names of binaries decide what Assay is.
    link = os.path.join(artifacts, "fio")
    os.symlink(os.path.realpath(binary), link)
    command = [sys.executable, "t/run-fio-tests.py", "-k", "-f", link, "-a", os.path.join(artifacts, "out")]
    if only:
        command += ["-o", *map(str, only)]
    elif not everything:
        command += ["-s", *map(str, range(1000, 1100))]
    environment = {**os.environ, "ASSAY_RUNS": os.path.join(artifacts, "runs")}
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True)
    found = {}
    for line in done.stdout.splitlines():
        match = RESULT.match(line)
        if match:
            found[int(match[1])] = (match[2], match[3].strip())
    if not found:
        sys.exit(f"the tests did not run: {done.stderr.strip() or done.stdout.strip()}")
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("source")
    options.add_argument("--assay", default=os.environ.get("ASSAY", "target/release/assay"))
    options.add_argument("--fio", default="/usr/bin/fio")
    options.add_argument("--only", type=int, nargs="+")
    options.add_argument("--all", action="store_true")
    given = options.parse_args()
    sides = {}
    for name, binary in (("assay", given.assay), ("fio", given.fio)):
        with tempfile.TemporaryDirectory(prefix="assay-fio-suite-") as artifacts:
            sides[name] = run(given.source, binary, artifacts, given.only, given.all)
    ours, theirs = sides["assay"], sides["fio"]
    print("test    assay    fio")
    for number in sorted(ours):
        results = [side.get(number, ("-", ""))[0].lower() for side in (ours, theirs)]
        if set(results) != {"skipped"}:
            print(f"{number:4}    {results[0]:8} {results[1]}")
    for name, side in sides.items():
        passed = sum(result == "PASSED" for result, _ in side.values())
        tried = sum(result != "SKIPPED" for result, _ in side.values())
        print(f"{name}: {passed} of {tried}")
    for name, side in sides.items():
        for number, (result, reason) in sorted(side.items()):
            if result == "FAILED":
                print(f"{name} {number}: {reason[:REASON_CHARS]}")


if __name__ == "__main__":
    main()
