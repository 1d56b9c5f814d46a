#!/usr/bin/env bash
# How often `assay compare` calls equal runs different, for real: 30 groups of five runs against five, the pairs of single runs
# among them, and 30 clean runs that no check should flag. A quarter of an hour on a quiet machine; AA_GROUPS and CLEAN make it
# shorter. What was measured is kept in KEEP (target/qualify/compare), so that it can be stopped and started again; remove that
# to begin anew. ASSAY names another binary, WHERE another file system for the clean runs.
source "$(dirname "$0")/common.sh"
keep=${KEEP:-target/qualify/compare}
mkdir -p "$keep"
python3 benches/compare_trials.py --assay "$ASSAY" --dir "$keep" --groups "${AA_GROUPS:-30}" "$@"
scratch clean
python3 benches/traps.py --assay "$ASSAY" --dir "$dir" --only nothing --clean "${CLEAN:-30}" --keep "$keep/clean.jsonl" --patience "${PATIENCE:-20}"
