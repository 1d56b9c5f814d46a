#!/usr/bin/env bash
# Mail, everything that takes long or wants quiet; about 25 minutes. SESSIONS (15) threads on one database of SIZE (2GiB) for TIME (5m): the
# ratios of published reports as a table, at RATE (800) transactions a second, and without a rate; the three tables; KILLS (20) kills, each with
# recovery and a check behind it; CUTS (20) power cuts; torn, lost, damaged and misplaced writes, each named; a run whose reads take 25 ms, which
# has to fail because of them. The short form (its ratios mean nothing: the database fits into its buffers):
#   SIZE=64MiB TIME=10s RATE=200 KILLS=1 CUTS=2 benches/qualify-mail.sh
# ASSAY names another binary, WHERE another place than the temporary directory. Needs FUSE.
source "$(dirname "$0")/common.sh"
scratch mail
export ASSAY_RUNS="$dir/runs"
mkdir "$ASSAY_RUNS"
size="size=${SIZE:-2GiB}"

echo "$("$ASSAY" --version), $(nproc) CPUs, $(df --output=fstype,source "$dir" | tail -1)"
"$ASSAY" --quiet mail build "$dir/mail" "$size" > "$dir/build.txt"
for rate in "rate=${RATE:-800}" ""; do
    printf '\n## %s threads, one database, %s, %s %s\n\n' "${SESSIONS:-15}" "${SIZE:-2GiB}" "${TIME:-5m}" "${rate:-without a rate}"
    # A failed criterion ends with 1; the table says which.
    "$ASSAY" --quiet mail run "$dir/mail" "$size" "threads=${SESSIONS:-15}" "time=${TIME:-5m}" $rate --json > "$dir/run.json" || true
    python3 benches/mail_ratios.py "$dir/run.json"
done

printf '\n## The three tables\n'
run=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$dir/run.json")
echo "run $run: 'assay mail run' prints them with the blocks of published reports"
"$ASSAY" mail run "$dir/mail" "$size" "threads=${SESSIONS:-15}" time=5s ramp=1s "rate=${RATE:-800}" 2> /dev/null | sed -n '/^Transactional I/,/^Test log/p' || true

printf '\n## %s kills\n\n' "${KILLS:-20}"
for number in $(seq "${KILLS:-20}"); do
    "$ASSAY" --quiet mail run "$dir/mail" "$size" "threads=${SESSIONS:-15}" time=1h ramp=1s "rate=${RATE:-800}" > /dev/null 2>&1 &
    worker=$!
    sleep "$((4 + number % 4)).$((number * 37 % 100))"
    kill -9 "$worker"
    wait "$worker" 2> /dev/null || true
    "$ASSAY" --quiet mail check "$dir/mail" "$size" > "$dir/check.txt" 2>&1 || { cat "$dir/check.txt"; exit 1; }
    echo "kill $number: $(grep -oE '[0-9]+ logs replayed.*|all of [0-9]+ sampled messages are as they were' "$dir/check.txt" | tr '\n' ';')"
done

printf '\n## Torn, lost, damaged and misplaced writes, and %s power cuts\n\n' "${CUTS:-20}"
ASSAY_POWER_CUTS=${CUTS:-20} cargo test -q -p assay-mail --test faults -- --nocapture --test-threads 1

printf '\n## Reads that take 25 ms\n\n'
cargo test -q -p assay --features schema --test commands mail::a_slow_storage_fails -- --nocapture
