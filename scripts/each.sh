#!/usr/bin/env bash
# Runs each script that matches a pattern, says how long it took, and fails if one of them did.
set -uo pipefail
cd "$(dirname "$0")/.."

failed=()
ran=0
while IFS= read -r script; do
    ran=$((ran + 1))
    echo "== $script"
    started=$SECONDS
    bash "$script" </dev/null || failed+=("$script")
    echo "== $script: $((SECONDS - started)) s"
done < <(compgen -G "${1:?usage: scripts/each.sh PATTERN}" | sort)

echo "$ran run, ${#failed[@]} failed: ${failed[*]:-none} (${1})"
[ "$ran" -gt 0 ] && [ ${#failed[@]} -eq 0 ]
