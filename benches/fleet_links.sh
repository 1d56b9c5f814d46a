#!/usr/bin/env bash
# Two hosts in network namespaces with an sshd each; what a run says when a worker is killed, its link is cut for CUT (20) seconds or for
# good, or the coordinator is killed, and whether anything goes on behind the lease: fleet_links.sh ASSAY DIR. Needs root. Called by
# qualify-fleet.sh.
set -euo pipefail
assay=$(realpath "$1")
dir=$(realpath "$2")/links
mkdir -p "$dir"
export ASSAY_RUNS=$dir/runs
sshd=$(command -v sshd || echo /usr/sbin/sshd)

leave() {
    for host in 1 2; do
        [ ! -f "$dir/sshd$host.pid" ] || kill "$(cat "$dir/sshd$host.pid")" 2>/dev/null || true
        ip netns del "assay$host" 2>/dev/null || true
        ip link del "assay-v$host" 2>/dev/null || true
    done
}
trap leave EXIT
leave
mkdir -p /run/sshd
ssh-keygen -q -t ed25519 -N '' -f "$dir/key"
ssh-keygen -q -t ed25519 -N '' -f "$dir/hostkey"
cp "$dir/key.pub" "$dir/authorized"
for host in 1 2; do
    ip netns add "assay$host"
    ip link add "assay-v$host" type veth peer name eth0 netns "assay$host"
    ip addr add "10.231.$host.1/24" dev "assay-v$host"
    ip link set "assay-v$host" up
    ip netns exec "assay$host" ip addr add "10.231.$host.2/24" dev eth0
    ip netns exec "assay$host" ip link set eth0 up
    ip netns exec "assay$host" ip link set lo up
    mkdir -p "$dir/home$host"
    ip netns exec "assay$host" "$sshd" -o "PidFile=$dir/sshd$host.pid" -o "HostKey=$dir/hostkey" -o StrictModes=no \
        -o "AuthorizedKeysFile=$dir/authorized" -o PasswordAuthentication=no -o UsePAM=no -o PermitRootLogin=yes -p 22 -f /dev/null
done
export ASSAY_SSH="ssh -F /dev/null -i $dir/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
cat >"$dir/plan.toml" <<PLAN
target = [{ name = "data", path = "data.bin", size = "8m" }]
job = [{ name = "load", op = "write", block_size = "4k", pattern = "random", engine = "psync", caching = "buffered", runtime = "${RUNTIME:-40s}" }]
PLAN

# Processes of workers in the namespace of a host, but for those that ended.
workers() { ip netns pids "assay$1" | xargs -r ps -o pid=,stat=,args= -p 2>/dev/null | awk '$2 !~ /Z/ && / worker$/ {print $1}'; }

begin() { # more words
    # What a worker was writing when it was killed needs consent.
    rm -f "$dir"/home*/data.bin
    "$assay" run "$dir/plan.toml" --json --quiet "$@" \
        --on "ssh:root@10.231.1.2:$dir/home1,root@10.231.2.2:$dir/home2" >"$dir/run.json" 2>"$dir/said" &
    run=$!
    for _ in $(seq 300); do
        journal=$(ls -t "$ASSAY_RUNS"/*/journal.jsonl 2>/dev/null | head -n 1 || true)
        if [ -n "$journal" ] && [ "$(grep -c '"started"' "$journal")" -ge 2 ] && [ "$journal" != "${last:-}" ]; then break; fi
        sleep 0.1
    done
    last=$journal
    sleep 3
}

result() { # what happened
    local status=0
    wait "$run" || status=$?
    python3 - "$dir/run.json" "$1" "$status" <<'PY'
import json, sys
run = json.load(open(sys.argv[1]))
workers = run["phases"][0]["jobs"][0]["evidence"].get("workers", [])
lost = [f"{worker['name']}: {worker['lost_because']}" for worker in workers if worker.get("lost_because")]
print(f"{sys.argv[2]}: status {sys.argv[3]}, verdict {run['verdict']}, {run['elapsed_s']:.0f} s, lost: {', '.join(lost) or 'none'}")
PY
}

# Waits until nothing of a worker runs on a host any more; says how long that took.
quiet() {
    local begun=$SECONDS
    while [ -n "$(workers "$1")" ]; do
        if [ $((SECONDS - begun)) -gt 40 ]; then
            echo "    host $1: a worker still runs after 40 s"
            return 1
        fi
        sleep 0.2
    done
    echo "    host $1: nothing runs any more after $((SECONDS - begun)) s"
}

begin
kill -9 $(workers 1)
result "worker killed"
begin
ip link set assay-v1 down
result "link cut for good"
quiet 1
ip link set assay-v1 up
begin --lost-after 90
ip link set assay-v1 down
sleep "${CUT:-20}"
ip link set assay-v1 up
result "link cut for ${CUT:-20} s, --lost-after 90"
begin
ip link set assay-v1 down
sleep "${CUT:-20}"
ip link set assay-v1 up
result "link cut for ${CUT:-20} s, lost after 15 s"
quiet 1
begin
kill -9 "$run"
wait "$run" 2>/dev/null || true
echo "coordinator killed"
quiet 1
quiet 2
begin
listening=$(ip netns exec assay1 ss -ltnpH | grep -cv sshd || true)
own=$(ss -ltnpH | grep -c "pid=$run," || true)
kill -INT "$run"
result "interrupted"
echo "    ports that listen beside sshd: $listening on host 1, $own of the coordinator"
