#!/usr/bin/env bash
# The speed tables: Assay against fio and a bare-bones ring, interleaved, pinned to one processor.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release -p assay
cargo build --release -p assay-engine --example bare_ring
dir=$(mktemp -d "${WHERE:-${TMPDIR:-/tmp}}/assay-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT
python3 benches/speed.py --dir "$dir" "$@"
