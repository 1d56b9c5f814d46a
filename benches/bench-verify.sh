#!/usr/bin/env bash
# What validating data costs a 4 KiB block: jobs with and without verify = true on the same file, interleaved, pinned to one processor.
# PAIRS makes it longer, WHERE names another directory, ASSAY another binary.
source "$(dirname "$0")/common.sh"
scratch verify
python3 benches/verify.py --assay "$ASSAY" --dir "$dir" --pairs "${PAIRS:-7}" "$@"
