#!/usr/bin/env bash
# No false alarm: 1 GiB written and read with `verify = true` and a journal, by each engine, direct and buffered, on a file and on a
# loop device; every block is written, overwritten at random while others are read, and read again, and `runs verify` proves all of it. TOTAL
# sets the bytes of each (1 GiB). A few minutes; needs root for the loop device and 3 GiB below WHERE.
source "$(dirname "$0")/common.sh"
dir=$(mktemp -d "${WHERE:-${TMPDIR:-/tmp}}/assay-clean-data-XXXXXX")
leave() {
    if [ -n "${device:-}" ]; then losetup -d "$device"; fi
    rm -rf "$dir"
}
trap leave EXIT
total=${TOTAL:-1g}
truncate -s "$total" "$dir/image"
device=$(losetup --find --show "$dir/image")
export ASSAY_RUNS=$dir/runs

plan() { # target, engine, caching
    cat <<PLAN
name = "clean-data"
target = [{ name = "data", path = "$1" $4 }]

[defaults]
engine = "$2"
caching = "$3"
outstanding = 16
content = { verify = true, journal = "flushed" }
flush = { every_writes = 256, at_end = true }

[[phase]]
name = "fill"
job = [{ name = "fill", op = "write", block_size = "64k", align = "4k", pattern = "sequential" }]

[[phase]]
name = "mixed"
job = [
    { name = "small", threads = 2, read_percent = 50, write_percent = 50, block_size = "4k", pattern = "random", bytes = "256m" },
    { name = "large", read_percent = 50, write_percent = 50, block_size = "64k", align = "4k", pattern = "random", bytes = "256m" },
]

[[phase]]
name = "check"
kind = "verify"
job = [{ name = "check", op = "read", block_size = "256k", align = "4k", pattern = "sequential" }]
PLAN
}

echo "| target | engine | caching | written | compared | not verifiable | wrong | after: acknowledged | in flight | wrong |"
echo "|---|---|---|--:|--:|--:|--:|--:|--:|--:|"
for target in file "$device"; do
    for engine in psync libaio io_uring; do
        for caching in direct buffered; do
            rm -rf "$dir/data" "$dir/runs"
            if [ "$target" = file ]; then
                plan "$dir/data" "$engine" "$caching" ", size = \"$total\"" > "$dir/plan.toml"
                allow=()
            else
                plan "$target" "$engine" "$caching" "" > "$dir/plan.toml"
                allow=(--destroy-data "$target" --really)
            fi
            "$ASSAY" --quiet run "$dir/plan.toml" "${allow[@]}" --json --watch counters > "$dir/run.json"
            "$ASSAY" --quiet runs verify last --json > "$dir/proved.json"
            python3 - "$dir/run.json" "$dir/proved.json" "$target" "$engine" "$caching" <<'PYTHON'
import json
import sys

run, proved = (json.load(open(path)) for path in sys.argv[1:3])
data = [job["data"] for phase in run["phases"] for job in phase["jobs"]]
total = {key: sum(one[key] for one in data) for key in ("written", "verified", "unverifiable", "wrong")}
after = proved["phases"][0]["jobs"][0]["data"]
crash = after["crash"]
row = [*sys.argv[3:], total["written"], total["verified"], total["unverifiable"], total["wrong"]]
row += [crash["acknowledged"], crash["in_flight"], after["wrong"]]
print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
if total["wrong"] or after["wrong"] or total["unverifiable"] or not crash["acknowledged"]:
    sys.exit("a false alarm, or nothing was proved")
PYTHON
        done
    done
done
