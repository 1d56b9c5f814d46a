#!/usr/bin/env bash
# Proving acknowledged writes after crashes, the long versions of what the tests do in short: KILLS (100) runs that are killed while
# they write with a journal, CUTS (50) power cuts of each kind on the file system of the tests, and a loop device whose storage is
# gone in the middle of a run, DEVICES (10) times with each engine. About half an hour; KILLS=2 CUTS=2 DEVICES=1 is the short form. Needs
# root, FUSE and loop devices.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "== ${KILLS:-100} kills, then ${CUTS:-50} power cuts of each kind"
ASSAY_KILLS=${KILLS:-100} cargo test -q -p assay --features schema --test commands \
    each_acknowledged_write_of_a_killed_run -- --nocapture
ASSAY_POWER_CUTS=${CUTS:-50} cargo test -q -p assay-runner --test faults faults::power:: -- --nocapture
echo "== ${DEVICES:-10} times a loop device that is gone, and one that is detached"
for _ in $(seq "${DEVICES:-10}"); do
    cargo test -q -p assay-runner --test faults faults::device:: -- --nocapture
done
