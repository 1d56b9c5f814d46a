#!/usr/bin/env bash
# How long the page of a run of a day takes: 16 jobs, a reporting period a second. Prints time, memory and size.
# Needs 200 MB of temporary space and GNU time.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${ASSAY:-target/release/assay}
[ -x "$program" ] || cargo build --release --quiet -p assay
where=$(mktemp -d)
trap 'rm -rf "$where"' EXIT
cargo run --release --quiet -p assay-report --example one-day -- "$where/runs" "${1:-16}" "${2:-86400}"
echo "run.json: $(du -h "$where"/runs/*/run.json | cut -f1), load $(cut -d' ' -f1 /proc/loadavg)"
for _ in 1 2 3; do
    ASSAY_RUNS=$where/runs /usr/bin/time -f '%e s, %M KB' "$program" report last --html "$where/day.html" --force
done
echo "page: $(stat -c %s "$where/day.html") bytes"
