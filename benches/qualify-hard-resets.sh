#!/usr/bin/env bash
# Hard resets of a virtual machine during validated writes with a journal: RESETS (5) times a machine boots, writes to one disk, keeps the
# journal on another, is reset without warning after a few seconds, boots again and proves what was acknowledged. Then once more with a
# part of the disk overwritten while the machine is off: that must be found. A few minutes. Needs qemu-system-x86_64 (software emulation is
# enough), mkfs.ext4, cpio, and Debian's package mirror for a kernel and busybox. RESETS=1 is the short form; ASSAY names another binary than
# scripts/build-static.sh builds, and what that one is linked with goes along.
set -euo pipefail
cd "$(dirname "$0")/.."
ASSAY=$(realpath "${ASSAY:-$(scripts/build-static.sh)}")
for tool in qemu-system-x86_64 mkfs.ext4 cpio; do
    [ -n "$(PATH=$PATH:/sbin:/usr/sbin command -v "$tool")" ] || { echo "$tool is needed" >&2; exit 1; }
done
dir=$(mktemp -d "${WHERE:-${TMPDIR:-/tmp}}/assay-resets-XXXXXX")
trap 'rm -rf "$dir"' EXIT

# A kernel and a shell, taken apart and not installed.
mkdir -p "$dir/packages" "$dir/initramfs"/{bin,proc,sys,dev,runs,modules,tmp}
kernel=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -1)
(cd "$dir/packages" && apt-get download -q "$kernel" busybox-static > /dev/null)
for package in "$dir/packages"/*.deb; do dpkg-deb -x "$package" "$dir/packages/files"; done
# The disks, and the file system of the runs with what it stands on.
find "$dir/packages/files" \( -name 'virtio*.ko*' -o -name 'ext4.ko*' -o -name 'jbd2.ko*' -o -name 'mbcache.ko*' -o -name '*crc*.ko*' \) \
    -exec cp {} "$dir/initramfs/modules" \;
cp "$dir"/packages/files/boot/vmlinuz-* "$dir/kernel"
cp "$(find "$dir/packages/files" -path '*bin/busybox' -type f | head -1)" "$dir/initramfs/bin/busybox"
strip -o "$dir/initramfs/bin/assay" "$ASSAY"
# Nothing for a static one.
{ ldd "$ASSAY" 2> /dev/null | grep -o '/[^ ]*' || true; } | while read -r library; do
    mkdir -p "$dir/initramfs$(dirname "$library")"
    cp -L "$library" "$dir/initramfs$library"
done
cat > "$dir/initramfs/plan.toml" <<'PLAN'
name = "reset"
target = [{ name = "disk", path = "/dev/vda" }]
[[phase]]
name = "write"
[[phase.job]]
name = "write"
op = "write"
block_size = "16k"
pattern = "random"
outstanding = 8
caching = "direct"
runtime = "600s"
flush = { every_writes = 32 }
content = { verify = true, journal = "flushed" }
PLAN
cat > "$dir/initramfs/init" <<'INIT'
#!/bin/busybox sh
export PATH=/bin HOME=/tmp ASSAY_RUNS=/runs/runs
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for round in 1 2 3 4; do for module in /modules/*.ko*; do insmod "$module" 2> /dev/null; done; done
while [ ! -b /dev/vdb ]; do sleep 0.1; done
mount -t ext4 /dev/vdb /runs || echo "SAID mount failed"
if [ -e /runs/armed ]; then
    assay --quiet runs verify last --json > /tmp/proved.json 2> /tmp/why
    echo "SAID status $?: $(cat /tmp/why)"
    echo "SAID $(grep -A8 '"crash": {' /tmp/proved.json | grep -E 'acknowledged|in_flight|newer|torn"' | tr -d '\n')"
    poweroff -f
fi
touch /runs/armed; sync
assay --quiet run /plan.toml --destroy-data /dev/vda --really --watch nothing 2>&1 &
while true; do sleep 1; echo "JOURNAL $(cat /runs/runs/*/data.journal 2> /dev/null | wc -c)"; done
INIT
chmod +x "$dir/initramfs/init"
(cd "$dir/initramfs" && find . | cpio --quiet -o -H newc | gzip -1 > "$dir/initramfs.gz")

# Talks to the machine's monitor.
monitor() {
    python3 - "$dir/monitor" "$1" <<'PYTHON'
import json
import socket
import sys

link = socket.socket(socket.AF_UNIX)
link.connect(sys.argv[1])
lines = link.makefile("rw")
lines.readline()
for command in ("qmp_capabilities", sys.argv[2]):
    lines.write(json.dumps({"execute": command}) + "\n")
    lines.flush()
    lines.readline()
PYTHON
}

boot() {
    rm -f "$dir/monitor"
    qemu-system-x86_64 -machine q35,accel=tcg -m 768 -display none -serial "file:$dir/console" \
        -kernel "$dir/kernel" -initrd "$dir/initramfs.gz" -append "console=ttyS0 quiet panic=1" \
        -drive "file=$dir/disk,format=raw,if=virtio,cache=writeback" \
        -drive "file=$dir/runs,format=raw,if=virtio,cache=writeback" \
        -qmp "unix:$dir/monitor,server=on,wait=off" > /dev/null 2> "$dir/qemu" &
    machine=$!
}

# Waits for a line on the console, while the machine is on.
await() {
    for _ in $(seq 1800); do
        if grep -aqE "$1" "$dir/console" 2> /dev/null; then return; fi
        kill -0 "$machine" 2> /dev/null || break
        sleep 0.1
    done
    grep -aqE "$1" "$dir/console" || { echo "not seen: $1"; tail -20 "$dir/console" "$dir/qemu"; exit 1; }
}

fresh() {
    rm -f "$dir/disk" "$dir/runs" "$dir/console"
    truncate -s 64M "$dir/disk" && truncate -s 256M "$dir/runs"
    mkfs.ext4 -q "$dir/runs"
}

for reset in $(seq "${RESETS:-5}"); do
    fresh
    boot
    # 100,000 bytes of journal: thousands of writes.
    await 'JOURNAL [0-9]{6}'
    sleep "$((reset % 4)).$((reset * 3 % 10))"
    monitor system_reset
    await 'SAID .*acknowledged'
    wait "$machine" || true
    echo "reset $reset: $(grep -a '^SAID' "$dir/console" | tr -d '\r' | tr '\n' ' ')"
    grep -aq '^SAID status 0' "$dir/console" || { echo "a false alarm"; exit 1; }
done

fresh
boot
await 'JOURNAL [0-9]{6}'
monitor quit
wait "$machine" || true
# A sixteenth of the disk, which was empty: how many of its blocks were written is how many can be lost.
written=$(python3 - "$dir/disk" <<'PYTHON'
import sys

with open(sys.argv[1], "r+b") as disk:
    disk.seek(8 << 20)
    blocks = [disk.read(16 << 10) for _ in range(256)]
    disk.seek(8 << 20)
    disk.write(bytes(4 << 20))
print(sum(any(block) for block in blocks))
PYTHON
)
rm -f "$dir/console"
boot
await 'SAID .*acknowledged'
wait "$machine" || true
echo "overwritten, $written written blocks: $(grep -a '^SAID' "$dir/console" | tr -d '\r' | tr '\n' ' ')"
lost=$(sed -n 's/^SAID status 1: error: blocks lost or wrong: \([0-9]*\) of.*/\1/p' "$dir/console")
# Those that were only in flight are none.
[ "${lost:-0}" -gt 0 ] && [ "$lost" -le "$written" ] || { echo "a missed loss, or a false alarm"; exit 1; }
