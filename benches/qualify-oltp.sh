#!/usr/bin/env bash
# OLTP, everything that takes long or wants quiet; about 40 minutes. On PostgreSQL in a cluster of its own (a scratch directory, no service of the
# system, run by user postgres where this is root): WAREHOUSES (10) warehouses, SECONDS_ (60) s, server-side functions and client SQL with
# NOPM, TPM/NOPM, checks and client CPU; ROUNDS (5) rounds by turns with go-tpc; pgbench's TPC-B through `assay judge`; the published set-up, 100
# warehouses and 10 users (PUBLISHED=no leaves it out); KILLS (20) crashes of a server and of SQLite; CUTS (20) power cuts of SQLite with
# synchronous FULL and OFF, and of a server. The short form:
#   WAREHOUSES=2 SECONDS_=5 RAMP=2 ROUNDS=1 PUBLISHED=no KILLS=1 CUTS=2 benches/qualify-oltp.sh
# go-tpc: GO_TPC names its program, built from its source (github.com/pingcap/go-tpc: go build -o go-tpc ./cmd/go-tpc). ASSAY names
# another binary, WHERE another place than the temporary directory.
source "$(dirname "$0")/common.sh"

programs=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -V | tail -1)
[ -x "$programs/initdb" ] || { echo "PostgreSQL's server is needed (apt-get install postgresql)" >&2; exit 1; }
if [ -n "${GO_TPC:-}" ] && [ ! -x "$GO_TPC" ]; then
    echo "GO_TPC=$GO_TPC is no program: go build -o go-tpc ./cmd/go-tpc in its source" >&2
    exit 1
fi
dir=$(mktemp -d "${WHERE:-${TMPDIR:-/tmp}}/assay-oltp-XXXXXX")
chmod 755 "$dir"
as=()
if [ "$(id -u)" = 0 ]; then as=(setpriv --reuid postgres --regid postgres --clear-groups); fi
leave() {
    [ ! -f "$dir/cluster/postmaster.pid" ] || "${as[@]}" "$programs/pg_ctl" -D "$dir/cluster" -m immediate stop > /dev/null || true
    rm -rf "$dir"
}
trap leave EXIT
export ASSAY_RUNS="$dir/runs" XDG_DATA_HOME="$dir/data"
mkdir "$dir/runs" "$dir/data" "$dir/cluster" "$dir/sqlite"
if [ "$(id -u)" = 0 ]; then chown postgres: "$dir/cluster"; fi

# Starts an empty cluster; $port is where.
cluster() {
    [ ! -f "$dir/cluster/postmaster.pid" ] || "${as[@]}" "$programs/pg_ctl" -D "$dir/cluster" -m fast stop > /dev/null
    find "$dir/cluster" -mindepth 1 -delete
    (cd / && "${as[@]}" "$programs/initdb" -D "$dir/cluster" -U postgres -A trust --no-locale -E UTF8 > /dev/null)
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    (cd / && "${as[@]}" "$programs/pg_ctl" -w -D "$dir/cluster" -l "$dir/cluster/log" start -o \
        "-p $port -k $dir/cluster -c listen_addresses=127.0.0.1 -c shared_buffers=${BUFFERS:-512MB} -c max_wal_size=4GB" > /dev/null)
    pid=$(head -1 "$dir/cluster/postmaster.pid")
}

measure() {
    python3 benches/oltp.py --assay "$ASSAY" --psql "$programs" --port "$port" --pid "$pid" --data "$dir/cluster" "$@"
}

echo "$("$ASSAY" --version), $("$programs/postgres" --version), $(nproc) CPUs"
cluster
measure --go-tpc "${GO_TPC:-}" --warehouses "${WAREHOUSES:-10}" --users "${USERS:-2}" --seconds "${SECONDS_:-60}" \
    --ramp "${RAMP:-20}" --rounds "${ROUNDS:-5}"

if [ "${PUBLISHED:-yes}" = yes ]; then
    printf '\n# The published set-up: 100 warehouses, 10 users (published: NOPM 7845, TPM 17790, ratio 2.268)\n'
    cluster
    measure --warehouses 100 --users 10 --seconds 300 --ramp 120
fi

printf '\n## %s crashes of a server, and of SQLite\n\n' "${KILLS:-20}"
"$ASSAY" oltp check "$dir/sqlite" --own-server --crash "${KILLS:-20}" 2>&1 | grep -E "crash|ledger|NOT"
"$ASSAY" --quiet oltp build "$dir/sqlite" --warehouses 2
"$ASSAY" oltp check "$dir/sqlite" --crash "${KILLS:-20}" 2>&1 | grep -E "crash|ledger|integrity|NOT"

printf '\n## SQLite from nothing in one command\n\n'
mkdir "$dir/new"
(cd "$dir/new" && "$ASSAY" --quiet oltp run --warehouses "${WAREHOUSES:-10}" --ramp "${RAMP:-20}s" --time "${SECONDS_:-60}s" | grep -E "NOPM|TPM|Verdict")
"$ASSAY" oltp check "$dir/new" | grep -cE "^  holds" | sed 's/$/ checks hold/'

printf '\n## %s power cuts of SQLite with synchronous=full, and with off; of a PostgreSQL server\n\n' "${CUTS:-20}"
ASSAY_POWER_CUTS=${CUTS:-20} cargo test -q -p assay-oltp --test databases power:: -- --nocapture
