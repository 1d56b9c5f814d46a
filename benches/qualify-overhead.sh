#!/usr/bin/env bash
# What the checks cost: counters and quiet windows on against off, in interleaved pairs on the processor's yardstick (reads of
# holes, which complete inside the system call): a quarter of an hour. What the loop itself samples (the buffer of every 512th read)
# is in both: it is part of every result. PAIRS makes it shorter; ASSAY names another binary.
source "$(dirname "$0")/common.sh"
scratch overhead
python3 benches/overhead.py --assay "$ASSAY" --dir "$dir" --pairs "${PAIRS:-30}" "$@"
