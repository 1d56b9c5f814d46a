#!/usr/bin/env bash
# Builds the full static binary and packs it: target/assay-VERSION-TRIPLE.tar.gz and its SHA-256.
set -euo pipefail
cd "$(dirname "$0")/.."

binary=$(scripts/build-static.sh)
version=$(cargo pkgid --package assay | sed 's/.*[#@]//')
triple=$(rustc -vV | sed -n 's/^host: //p')
name=assay-$version-$triple

stage=$(mktemp -d)
trap 'rm -rf -- "$stage"' EXIT
mkdir "$stage/$name"
cp "$binary" LICENSE-APACHE LICENSE-MIT "$stage/$name/"
for page in README.md CHANGELOG.md; do
    if [ -e "$page" ]; then cp "$page" "$stage/$name/"; fi
done

# Manual pages and completions of what is in this very binary.
mkdir "$stage/$name/man" "$stage/$name/completions"
"$binary" man >"$stage/$name/man/assay.1"
for command in $("$binary" --help | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on && /^  [a-z]/ { print $1 }'); do
    [ "$command" = help ] || "$binary" man "$command" >"$stage/$name/man/assay-$command.1"
done
for shell in bash zsh fish; do
    "$binary" completions "$shell" >"$stage/$name/completions/assay.$shell"
done

mkdir -p target
# The same sources give the same archive.
tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" \
    --directory "$stage" "$name" | gzip --no-name >"target/$name.tar.gz"
(cd target && sha256sum "$name.tar.gz" | tee "$name.tar.gz.sha256")
