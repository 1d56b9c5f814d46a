#!/usr/bin/env bash
# Twelve tests of the published series against real fio on the same files, seven interleaved pairs each: about half an hour.
source "$(dirname "$0")/common.sh"
dir=$(mktemp -d "${WHERE:-${TMPDIR:-/tmp}}/assay-series-XXXXXX")
trap '"$ASSAY" cleanup "$dir" >/dev/null; rmdir "$dir"' EXIT
python3 benches/quick_series.py --assay "$ASSAY" --dir "$dir" "$@"
