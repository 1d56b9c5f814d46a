#!/usr/bin/env bash
# Builds the static binary for this machine and prints its path: scripts/build-static.sh [CARGO OPTION..]
set -euo pipefail
cd "$(dirname "$0")/.."

triple=$(rustc -vV | sed -n 's/^host: //p')
target=${CARGO_TARGET_DIR:-target}

# crt-static only here and only with an explicit --target: elsewhere it would reach proc-macros and break them. Cargo forgets the
# profile's `strip` where a package of it has settings of its own, so that it is said here.
RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static -C strip=symbols" cargo build --profile dist --package assay \
    --target "$triple" --target-dir "$target" "$@" >&2

binary=$target/$triple/dist/assay
headers=$(LC_ALL=C readelf --program-headers --dynamic --wide "$binary")
case $headers in
    *INTERP* | *NEEDED*) echo "build-static: $binary needs a dynamic linker or shared libraries" >&2; exit 1 ;;
esac
case $(LC_ALL=C readelf --sections --wide "$binary") in
    *.symtab*) echo "build-static: $binary is not stripped" >&2; exit 1 ;;
esac
echo "$binary"
