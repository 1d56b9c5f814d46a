#!/usr/bin/env bash
# The staged traps in doses of 2 to 50 %, ten trials each, and clean runs: about an hour and a half. Needs root, loop
# devices and blkio.throttle of cgroup v1. TRIALS and CLEAN make it shorter; ASSAY names another binary.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${ASSAY:-}" ]; then
    cargo build --release -p assay
    ASSAY=target/release/assay
fi
dir=$(mktemp -d "${WHERE:-${TMPDIR:-/tmp}}/assay-traps-XXXXXX")
trap 'rm -rf "$dir"' EXIT
python3 benches/traps.py --assay "$ASSAY" --dir "$dir" --trials "${TRIALS:-10}" --clean "${CLEAN:-30}" "$@"
