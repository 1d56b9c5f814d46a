#!/usr/bin/env bash
# bench-fio and fio-plot, auto-fio and cdmpy from PyPI, unchanged, on the command `fio`: Assay beside fio. A few minutes; needs fio, and PyPI.
source "$(dirname "$0")/common.sh"
scratch drivers
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet fio-plot auto-fio cdmpy
python3 benches/fio_drivers.py "$dir/venv" "$dir" --assay "$ASSAY" "$@"
