#!/usr/bin/env bash
# Fuzzes every target for so many seconds of processor time each, or those that are named: fuzz/run.sh SECONDS [TARGET..]
# Processor time, because a busy machine may leave a fuzzer a few seconds of its fifteen minutes by the clock; it ends at twelve times that by the clock.
# TIMEOUT: seconds that one input may take (10), longer where the machine is taken away from it meanwhile.
#
# The collection of foreign files ($ASSAY_CORPUS, else beside the checkout) is read as seeds where it is at hand.
# Of each it says how many inputs there were, and how many of them were accepted (ASSAY_FUZZ_STATS names a file for that).
# Needs a C++ compiler for libFuzzer, and nothing of a nightly toolchain: coverage is a pass of LLVM that stable rustc
# runs. Inputs that were found are kept in fuzz/corpus, inputs that fail in fuzz/artifacts; the seeds are committed.
set -euo pipefail
cd "$(dirname "$0")"

seconds=${1:?usage: fuzz/run.sh SECONDS [TARGET..]}
shift
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    targets=(fio fio_command vdbench plan trace model series stored import fleet ledger bundle journal mail postgres)
fi

host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTFLAGS="${RUSTFLAGS:-} -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing"
# With --target, so that build scripts are built without these flags.
cargo build --release --quiet --target "$host"

collection=${ASSAY_CORPUS:-../../shared/corpus}

# Waits for a process, which is asked to end when it has had so many seconds of the processor; `used` is what it had.
ends_after() {
    local ticks
    ticks=$(getconf CLK_TCK)
    used=0
    while used=$(awk -v hz="$ticks" '{ sub(/.*\) /, ""); print int(($12 + $13) / hz) }' "/proc/$2/stat" 2>/dev/null || echo "$used") && kill -0 "$2" 2>/dev/null; do
        [ "$used" -lt "$1" ] || kill -USR1 "$2" 2>/dev/null || true
        sleep 1
    done
}

failed=()
for target in "${targets[@]}"; do
    mkdir -p "corpus/$target" "artifacts/$target"
    log="artifacts/$target/log"
    seeds=("seeds/$target")
    case $target in fio | vdbench) [ ! -d "$collection/$target" ] || seeds+=("$collection/$target") ;; esac
    export ASSAY_FUZZ_STATS="artifacts/$target/share"
    rm -f "$ASSAY_FUZZ_STATS"
    "target/$host/release/$target" "corpus/$target" "${seeds[@]}" \
        -max_total_time=$((seconds * 12)) -timeout="${TIMEOUT:-10}" -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 \
        -artifact_prefix="artifacts/$target/" >"$log" 2>&1 &
    ends_after "$seconds" $!
    if wait $!; then
        result=ok
    else
        result=FAILED
        failed+=("$target")
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    peak=$(sed -n 's/^stat::peak_rss_mb: *//p' "$log")
    coverage=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    share=$(cat "$ASSAY_FUZZ_STATS" 2>/dev/null || echo "share accepted not known")
    printf '%-12s %-6s %s s, %s inputs, %s; %s edges, %s MiB at most\n' \
        "$target" "$result" "$used" "${runs:-?}" "$share" "${coverage:-?}" "${peak:-?}"
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "what failed is in fuzz/artifacts: ${failed[*]}" >&2
    exit 1
fi
