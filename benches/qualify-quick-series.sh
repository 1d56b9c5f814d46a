#!/usr/bin/env bash
# Twelve tests of the published series against real fio on the same files, seven interleaved pairs each: about half an hour.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release -p assay
dir=$(mktemp -d "${WHERE:-${TMPDIR:-/tmp}}/assay-series-XXXXXX")
trap 'target/release/assay cleanup "$dir" >/dev/null; rmdir "$dir"' EXIT
python3 benches/quick_series.py --dir "$dir" "$@"
