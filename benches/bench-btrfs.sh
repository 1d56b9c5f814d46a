#!/usr/bin/env bash
# The 70/30 mixes of the speed tables on btrfs: a new file system of SIZE on a loop device below WHERE. Needs root.
source "$(dirname "$0")/common.sh"
dir=$(mktemp -d "${WHERE:-${TMPDIR:-/tmp}}/assay-btrfs-XXXXXX")
leave() {
    if mountpoint -q "$dir/mnt"; then umount "$dir/mnt"; fi
    if [ -n "${device:-}" ]; then losetup -d "$device"; fi
    rm -rf "$dir"
}
trap leave EXIT
mkdir "$dir/mnt"
truncate -s "${SIZE:-6G}" "$dir/image"
device=$(losetup --find --show --direct-io=on "$dir/image")
mkfs.btrfs -q "$device"
mount "$device" "$dir/mnt"
python3 benches/speed.py --assay "$ASSAY" --dir "$dir/mnt" --only 70/30 "$@"
