#!/usr/bin/env bash
# How long the history of 10,000 stored runs takes to open in `assay serve`: the first time ever (the index is made), after a
# restart with cold caches (as root), and warm. Needs about 5 minutes and 2 GB; prints a line a case.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-10000}
program=${ASSAY:-target/release/assay}
[ -x "$program" ] || cargo build --release --quiet -p assay
where=$(mktemp -d)
trap 'kill ${server:-} 2>/dev/null || true; rm -rf "$where"' EXIT
cargo run --quiet -p assay-web --example many-runs -- "$where/runs" "$runs"
echo "$runs runs, $(du -sh "$where/runs" | cut -f1)"

start() {
    HOME=$where ASSAY_RUNS=$where/runs "$program" serve --listen 127.0.0.1:0 >"$where/address" 2>/dev/null &
    server=$!
    until [ -s "$where/address" ]; do sleep 0.02; done
    address=$(head -n1 "$where/address")
}
stop() { kill -INT "$server"; wait "$server" || true; }
open() { curl --silent --output "$where/page" --write-out '%{time_total}' "$1"; }
complete() { ! grep --quiet 'index is being made' "$where/page"; }

start
echo "first start, the index is being made: page after $(open "$address") s"
begun=$SECONDS
until open "$address" >/dev/null && complete; do sleep 1; done
echo "index complete after $((SECONDS - begun)) s"
for path in '' '?q=db2' '?tag=before+upgrade' '?page=150' 'trend?plan=nightly'; do
    echo "warm, /$path: $(open "$address$path") s"
done
stop
start
echo "started again: $(open "$address") s"
stop
if [ -w /proc/sys/vm/drop_caches ]; then
    sync
    echo 3 >/proc/sys/vm/drop_caches
    start
    echo "started again, cold caches: $(open "$address") s"
    until open "$address" >/dev/null && complete; do sleep 0.2; done
    stop
fi
