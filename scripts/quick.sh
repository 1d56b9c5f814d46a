#!/usr/bin/env bash
# Builds the lean static binary and runs the quick series in a new directory under WHERE (else TMPDIR, else
# /tmp), which is removed afterwards: [WHERE=DIRECTORY] scripts/quick.sh [OPTION OF assay quick..]
set -euo pipefail
cd "$(dirname "$0")/.."

binary=$(scripts/build-static.sh --no-default-features)
echo "quick: built $binary, static, $(($(wc -c <"$binary") / 1024)) KiB, after $SECONDS s" >&2

directory=$(mktemp -d "${WHERE:-${TMPDIR:-/tmp}}/assay-quick.XXXXXX")
trap 'rm -rf -- "$directory"' EXIT
"$binary" quick "$directory" "$@"
echo "quick: the report stays; $directory is removed now, with the files in it" >&2
