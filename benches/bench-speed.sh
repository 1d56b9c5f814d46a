#!/usr/bin/env bash
# The speed tables: Assay against fio and a bare-bones ring, interleaved, pinned to one processor.
source "$(dirname "$0")/common.sh"
cargo build --release -p assay-engine --example bare_ring
scratch bench
python3 benches/speed.py --assay "$ASSAY" --dir "$dir" "$@"
