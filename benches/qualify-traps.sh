#!/usr/bin/env bash
# The staged traps in doses of 2 to 50 %, ten trials each, and clean runs: under half an hour on a quiet machine. Needs root, loop
# devices and blkio.throttle of cgroup v1. TRIALS and CLEAN make it shorter; ASSAY names another binary. Trials are kept in
# KEEP (target/qualify/traps.jsonl), so that it can be stopped and started again; remove that to begin anew.
source "$(dirname "$0")/common.sh"
scratch traps
keep=${KEEP:-target/qualify/traps.jsonl}
mkdir -p "$(dirname "$keep")"
python3 benches/traps.py --assay "$ASSAY" --dir "$dir" --keep "$keep" --trials "${TRIALS:-10}" --clean "${CLEAN:-30}" "$@"
