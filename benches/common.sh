# What every script here begins with; to be sourced: leaves the current directory at the repository's root, ASSAY naming a binary
# (a release build where the caller named none) and `scratch NAME` as a way to make a directory $dir that is gone at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ -z "${ASSAY:-}" ]; then
    cargo build --release -p assay
    ASSAY=target/release/assay
fi
ASSAY=$(realpath "$ASSAY")

# Makes $dir under WHERE (default: the temporary directory) and removes it at the end. A script with more to undo sets its own trap.
scratch() {
    dir=$(mktemp -d "${WHERE:-${TMPDIR:-/tmp}}/assay-$1-XXXXXX")
    trap 'rm -rf "$dir"' EXIT
}
