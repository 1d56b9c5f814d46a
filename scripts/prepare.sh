#!/usr/bin/env bash
# Installs what `make quick` or `make test` needs and this machine lacks: with apt-get where we are root.
# Elsewhere it says what is missing. Without a compiler and a linker it fails; tests that miss anything else
# are declared skips (docs/capabilities.toml).
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:-}
case $purpose in
    quick | test) ;;
    *) echo "usage: scripts/prepare.sh quick|test" >&2; exit 2 ;;
esac
export PATH="$PATH:${HOME:-/nonexistent}/.cargo/bin:/usr/sbin:/sbin:/usr/local/go/bin"

can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

# have COMMAND..: whether one of them is there.
have() {
    local name
    for name in "$@"; do
        if command -v "$name" >/dev/null; then return 0; fi
    done
    return 1
}

# The static library of the C runtime, and with it the headers.
have_libc_dev() { [ -e "$(cc -print-file-name=libc.a 2>/dev/null)" ]; }

# The Debian packages that are missing, a line each.
missing_essential() {
    have cc || echo gcc
    have ld || echo binutils
    have_libc_dev || echo libc6-dev
}
missing_for_tests() {
    have git || echo git
    have fio || echo fio
    have sshd || echo openssh-server
    have ssh || echo openssh-client
    have chromium chromium-browser google-chrome || echo chromium
    have node || echo nodejs
    have npm || echo npm
    have losetup || echo util-linux
    have mkfs.btrfs || echo btrfs-progs
    have mkfs.xfs || echo xfsprogs
    have valgrind || echo valgrind
    have tmux || echo tmux
    have ip || echo iproute2
    have ethtool || echo ethtool
    have sshfs || echo sshfs
    have slurmctld || echo slurm-wlm
    have munged || echo munge
    have qemu-system-x86_64 || echo qemu-system-x86
    have qemu-img || echo qemu-utils
    have grub-mkimage || echo grub-common
    [ -e /usr/lib/grub/i386-pc/boot.img ] || echo grub-pc-bin
    [ -e /usr/lib/grub/x86_64-efi/kernel.img ] || echo grub-efi-amd64-bin
    have xmllint || echo libxml2-utils
    if ! has_vcsim; then have go || echo golang-go; fi
    compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || echo postgresql
}

apt() {
    DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 "$@" </dev/null >>"$log" 2>&1
}

# install PACKAGE..: together, or else one by one, so that one that cannot be had does not cost the others.
# Services are kept from starting: the tests start their own.
install() {
    local policy=/usr/sbin/policy-rc.d package
    echo "prepare: installing $*"
    apt update || echo "prepare: apt-get update failed; trying with the lists that are there" >&2
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
        trap 'rm -f /usr/sbin/policy-rc.d "$log"' EXIT
    fi
    if ! apt install -y --no-install-recommends "$@"; then
        for package in "$@"; do
            apt install -y --no-install-recommends "$package" || echo "prepare: failed to install $package" >&2
        done
        tail -n 5 "$log" >&2
    fi
    case " $* " in
        *" openssh-server "*) if have systemctl; then systemctl --quiet disable ssh >>"$log" 2>&1 || true; fi ;;
    esac
}

# The toolchain must be as new as Cargo.toml says.
rust_minimum=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
rust_is_recent() {
    local version
    version=$(cargo --version 2>/dev/null | cut -d' ' -f2) || return 1
    [ -n "$version" ] && printf '%s\n%s\n' "$rust_minimum" "$version" | sort --version-sort --check=quiet
}
prepare_rust() {
    rust_is_recent && return
    if can_install; then
        have rustup || install rustup
        if have rustup; then rustup toolchain install stable --profile minimal --component clippy,rustfmt || true; fi
        have cargo || install cargo
    fi
    rust_is_recent && return
    cat >&2 <<END
prepare: cargo $rust_minimum or newer is needed; here: $(cargo --version 2>/dev/null || echo none)
         curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y
END
    exit 1
}
prepare_rust_checks() {
    local component
    for component in fmt clippy; do
        cargo "$component" --version >/dev/null 2>&1 && continue
        if have rustup; then rustup component add rustfmt clippy || true; fi
        cargo "$component" --version >/dev/null 2>&1 && continue
        echo "prepare: cargo $component is missing: rustup component add rustfmt clippy" >&2
        exit 1
    done
}

# What the browser tests drive Chromium with, in the versions that xtask/support/browser names.
prepare_browser() {
    local from=xtask/support/browser to=target/browser
    if ! have node || ! have npm; then return; fi
    if cmp -s "$from/package-lock.json" "$to/package-lock.json" && [ -d "$to/node_modules/axe-core" ]; then return; fi
    mkdir -p "$to"
    cp "$from/package.json" "$from/package-lock.json" "$to"
    (cd "$to" && timeout 300 npm ci --no-audit --no-fund >>"$log" 2>&1) ||
        echo "prepare: npm could not install the packages of the browser tests; they are skipped" >&2
}

# govmomi's simulator of vSphere and its client, which the tests import an OVA with. They are built once, at this version.
govmomi=v0.37.3
govmomi_go=1.19 # the oldest Go that builds it
vcsim=target/tools
has_vcsim() {
    if have vcsim && have govc; then return; fi
    [ -x $vcsim/vcsim ] && [ -x $vcsim/govc ] && [ "$(cat $vcsim/govmomi.version 2>/dev/null)" = $govmomi ]
}
go_is_recent() {
    local version
    version=$(GOTOOLCHAIN=local go version 2>/dev/null | sed -n 's/^go version go\([0-9.]*\).*/\1/p')
    [ -n "$version" ] && printf '%s\n%s\n' $govmomi_go "$version" | sort --version-sort --check=quiet
}
prepare_vcsim() {
    local skipped="the test that imports an OVA into vcsim is skipped" module=github.com/vmware/govmomi
    if has_vcsim; then return; fi
    if ! go_is_recent; then
        echo "prepare: no Go $govmomi_go or newer, which builds vcsim; $skipped" >&2
        return
    fi
    mkdir -p $vcsim
    # Without symbols; with the Go that is here, which would download another one; and with a cache that does not stay.
    local cache
    cache=$(mktemp -d)
    if GOTOOLCHAIN=local GOCACHE=$cache GOBIN="$PWD/$vcsim" timeout 300 \
        go install -ldflags='-s -w' $module/vcsim@$govmomi $module/govc@$govmomi >>"$log" 2>&1; then
        echo $govmomi >$vcsim/govmomi.version
    else
        echo "prepare: vcsim and govc $govmomi could not be built ($(tail -n 1 "$log")); $skipped" >&2
    fi
    rm -rf "$cache"
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
list() {
    missing_essential
    if [ "$purpose" = test ]; then missing_for_tests; fi
}

mapfile -t missing < <(list)
if [ ${#missing[@]} -gt 0 ] && can_install; then
    install "${missing[@]}"
    mapfile -t missing < <(list)
fi
if [ ${#missing[@]} -gt 0 ]; then
    echo "prepare: missing: ${missing[*]}" >&2
    echo "         as root: apt-get install ${missing[*]}   (or the like on another distribution)" >&2
fi
prepare_rust
if [ "$purpose" = test ]; then
    prepare_rust_checks
    prepare_browser
    prepare_vcsim
fi
if [ -n "$(missing_essential)" ]; then exit 1; fi
echo "prepare: $SECONDS s"
