#!/usr/bin/env bash
# Ten minutes of fuzzing for everything that reads what others wrote: about an hour and a half. EACH: seconds for each.
set -euo pipefail
cd "$(dirname "$0")/.."
exec fuzz/run.sh "${EACH:-600}"
