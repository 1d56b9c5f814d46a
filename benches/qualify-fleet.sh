#!/usr/bin/env bash
# Many workers, the long versions of what the tests do in short: 1, 8 and WORKERS (200) local workers on null and real targets (totals
# against the sum of the workers' own counts, start spread, the coordinator's CPU and memory), HOSTS (1000) hosts with a stub in place of
# ssh, 1000 simulated workers of an hour merged, clocks of their own, links that are cut between network namespaces with an sshd each. About
# ten minutes; needs root, sshd and unshare. WORKERS=20 HOSTS=50 SIMULATED=100x60 is the short form.
source "$(dirname "$0")/common.sh"
scratch fleet
export ASSAY_RUNS=$dir/runs
mkdir -p "$dir/data"

plan() { # path, engine, more
    cat <<PLAN
name = "fleet"
seed = 7
target = [{ name = "data", path = "$1" $4 }]
job = [{ name = "load", read_percent = 70, write_percent = 30, block_size = "4k", pattern = "random", engine = "$2", caching = "buffered", runtime = "$3" }]
PLAN
}

show() { # run.json
    python3 - "$1" <<'PY'
import json, sys
run = json.load(open(sys.argv[1]))
job = run["phases"][0]["jobs"][0]
workers = job["evidence"].get("workers", [])
total = job["total"]["ios"]
own = sum(worker["ios"] for worker in workers)
trimmed = job["evidence"].get("common", {}).get("trimmed_ios", 0) if workers else 0
skews = [worker["start_skew_ns"] for worker in workers] or [0]
errors = [worker["start_error_ns"] for worker in workers] or [0]
same = not workers or total == own - trimmed
print(f"{max(len(workers), 1):5} workers: {job['total']['iops']:12.0f} IOPS, total {total} "
      f"{'=' if same else '!='} {own} - {trimmed}; start spread {(max(skews) - min(skews)) / 1e6:.2f} ms "
      f"± {max(errors) / 1e6:.2f} ms; verdict {run['verdict']}")
sys.exit(0 if same else 1)
PY
}

on() { # workers, plan
    /usr/bin/time -f "        coordinator and workers: %U s user, %S s system; the largest process %M KiB" -- \
        "$ASSAY" run "$dir/$2.toml" --on "$1" --target "$dir/data" --watch nothing --json --quiet >"$dir/run.json"
    show "$dir/run.json"
}

plan x null 5s ', kind = "null", size = "1g"' >"$dir/null.toml"
plan data.bin psync 5s ', size = "4m"' >"$dir/real.toml"
for workers in 1 8 "${WORKERS:-200}"; do
    echo "== $workers local workers: null targets, then files"
    on "local:$workers" null
    on "local:$workers" real
done

echo "== ${HOSTS:-1000} hosts with a stub in place of ssh"
cat >"$dir/stub" <<STUB
#!/bin/sh
exec "$ASSAY" worker
STUB
chmod +x "$dir/stub"
seq -f 'h%04g' "${HOSTS:-1000}" >"$dir/hosts"
plan x null 2s ', kind = "null", size = "1g"' >"$dir/many.toml"
started=$(date +%s.%N)
ASSAY_SSH=$dir/stub on "ssh:@$dir/hosts" many
echo "        from the start to the result: $(echo "$(date +%s.%N) - $started" | bc) s"

echo "== ${SIMULATED:-1000x3600} simulated workers x intervals merged"
merged=(cargo test --release -q -p assay-results --lib)
"${merged[@]}" --no-run
time ASSAY_FLEET_SCALE=${SIMULATED:-1000x3600} "${merged[@]}" the_merged_percentile_is_that_of_all_samples -- --nocapture

echo "== clocks of their own: the stated error covers the true difference of 20 starts of 20"
cargo test -q -p assay --features schema --test commands the_stated_error_covers -- --nocapture

echo "== hosts in network namespaces: workers killed, links cut, the coordinator killed"
bash benches/fleet_links.sh "$ASSAY" "$dir"
