#!/usr/bin/env bash
# Write saturation of a small real device until it is steady: a compressed memory disk of SIZE, filled and then overwritten at
# random in 4 KiB with data that does not compress, in rounds of ROUND. Two to four minutes. Needs root and zram; ASSAY names
# another binary. Prints the rounds and the verdict.
source "$(dirname "$0")/common.sh"
dir=$(mktemp -d "${WHERE:-${TMPDIR:-/tmp}}/assay-saturation-XXXXXX")
number=$(cat /sys/class/zram-control/hot_add)
device=/dev/zram$number
leave() {
    echo 1 > "/sys/block/zram$number/reset"
    echo "$number" > /sys/class/zram-control/hot_remove
    rm -rf "$dir"
}
trap leave EXIT
echo "${SIZE:-2G}" > "/sys/block/zram$number/disksize"
cat > "$dir/plan.toml" <<PLAN
name = "saturation"
target = [{ name = "data", path = "$device" }]

[[phase]]
name = "saturation"
until = "steady"

[[phase.job]]
name = "saturation"
op = "write"
block_size = "4k"
pattern = { random = "uniform", once_per_pass = false }
outstanding = 16
caching = "direct"
runtime = "${ROUND:-4s}"
PLAN
ASSAY_RUNS="$dir/runs" "$ASSAY" --quiet run "$dir/plan.toml" --destroy-data "$device" --json > "$dir/run.json" || true
python3 - "$dir/run.json" <<'PYTHON'
import json
import sys

run = json.load(open(sys.argv[1]))
print("| round | IOPS | MiB written | |")
print("|--:|--:|--:|---|")
for index, phase in enumerate(run["phases"]):
    total = phase["jobs"][0]["total"]
    counts = "counts" if phase["kind"] == "measure" else ""
    print(f"| {index + 1} | {total['iops']:,.0f} | {total['bytes'] >> 20:,} | {counts} |")
print("\n" + "\n".join(run["notes"]))
PYTHON
