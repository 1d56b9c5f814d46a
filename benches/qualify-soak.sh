#!/usr/bin/env bash
# An hour of mixed load whose data is verified, on a file system and on zram: memory and descriptors of the process, every ten
# seconds of an hour, as CSV and as a picture, and whether they stayed flat. Needs root and zram. SECONDS_LONG makes it shorter, RATE (I/Os a
# second of each of the four jobs; 0: no limit) quieter (what is laid out in the beginning is no flat curve: some minutes at least); ASSAY names another binary, KEEP where the curves go.
source "$(dirname "$0")/common.sh"
long=${SECONDS_LONG:-3600} rate=${RATE:-0} keep=${KEEP:-target/qualify/soak}
mkdir -p "$keep"
scratch soak
modprobe zram num_devices=0 2>/dev/null || true
number=$(cat /sys/class/zram-control/hot_add)
run=
leave() {
    # Stopped on the way: what still uses the device goes first.
    if [ -n "$run" ]; then kill "$run" 2>/dev/null && wait "$run" || true; fi
    echo 1 >"/sys/block/zram$number/reset"
    echo "$number" >/sys/class/zram-control/hot_remove
    rm -rf "$dir"
}
trap leave EXIT
trap 'exit 130' INT TERM
echo 2G >"/sys/block/zram$number/disksize"

limit=""
[ "$rate" = 0 ] || limit="rate = $rate"
cat >"$dir/soak.toml" <<PLAN
name = "soak"
[[target]]
name = "file"
path = "$dir/soak.data"
size = "2g"
[[target]]
name = "zram"
path = "/dev/zram$number"
size = "2g"
[defaults]
content = { verify = true, compression_ratio = 4 }
runtime = "${long}s"
pattern = "random"
$limit
[[job]]
name = "direct"
targets = ["file"]
length = "50%"
read_percent = 70
block_size = "4k/80,16k/20"
outstanding = 16
threads = 2
[[job]]
name = "buffered"
targets = ["file"]
offset = "50%"
read_percent = 50
block_size = "8k"
caching = "buffered"
engine = "psync"
flush = { call = "fdatasync", every_writes = 64 }
[[job]]
name = "compressed"
targets = ["zram"]
length = "50%"
read_percent = 50
block_size = "4k"
outstanding = 8
engine = "libaio"
[[job]]
name = "walk"
targets = ["zram"]
offset = "50%"
op = "write"
pattern = "sequential"
block_size = "64k"
outstanding = 4
PLAN
ASSAY_RUNS=${ASSAY_RUNS:-$dir/runs} "$ASSAY" run "$dir/soak.toml" --destroy-data "/dev/zram$number" --really \
    >"$keep/soak.out" 2>"$keep/soak.err" &
run=$!
python3 benches/soak_watch.py "$run" "$keep/soak" "$long" && flat=0 || flat=$?
wait "$run" && status=0 || status=$?
run=
sed -n '/[Vv]erdict/p' "$keep/soak.out"
echo "status $status"
# What was wrong, where it is the run that failed.
[ "$status" = 0 ] || tail -5 "$keep/soak.err" >&2
[ "$status" != 0 ] || status=$flat
exit "$status"
