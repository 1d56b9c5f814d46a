#!/usr/bin/env bash
# Ten minutes of fuzzing for everything that reads what others wrote: more than two hours. EACH: seconds for each.
set -euo pipefail
cd "$(dirname "$0")/.."
exec fuzz/run.sh "${EACH:-600}"
