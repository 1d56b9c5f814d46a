#!/usr/bin/env bash
# Forty runs with nothing wrong about them, of many kinds, and what an independent observer saw meanwhile: about six minutes on a
# quiet machine. RUNTIME sets the measured time of each.
source "$(dirname "$0")/common.sh"
scratch clean
python3 benches/clean_runs.py --assay "$ASSAY" --dir "$dir" --runtime "${RUNTIME:-6s}" "$@"
