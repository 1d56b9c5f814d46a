#!/usr/bin/env bash
# What the checks cost: counters and quiet windows on against off, in interleaved pairs on the processor's yardstick (reads of
# holes, which complete inside the system call): a quarter of an hour. What the loop itself samples (the buffer of every 512th read)
# is in both: it is part of every result. PAIRS makes it shorter; ASSAY names another binary.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${ASSAY:-}" ]; then
    cargo build --release -p assay
    ASSAY=target/release/assay
fi
dir=$(mktemp -d "${WHERE:-${TMPDIR:-/tmp}}/assay-overhead-XXXXXX")
trap 'rm -rf "$dir"' EXIT
python3 benches/overhead.py --assay "$ASSAY" --dir "$dir" --pairs "${PAIRS:-30}" "$@"
