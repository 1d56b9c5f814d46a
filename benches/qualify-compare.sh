#!/bin/sh
# How often `assay compare` calls equal runs different, for real: PAIRS pairs of runs of the same plan in DIR, one after the other.
#
#   benches/qualify-compare.sh ASSAY DIR [PAIRS]
#
# Prints a line for each pair and the share with a better or worse among them, repetitions being the unit; then the same runs in
# groups of five against five, runs being the unit. Results of a dated run: docs/qualification.
set -eu
assay=$1 dir=$2 pairs=${3:-30}
here=$(mktemp -d "$dir/qualify-compare.XXXXXX")
trap 'rm -rf "$here"' EXIT
export ASSAY_RUNS="$here/runs"
cat > "$here/plan.toml" <<'PLAN'
name = "same"

[[target]]
name = "data"
path = "data.bin"
size = "64m"

[[phase]]
name = "fill"
kind = "precondition"
drain = true

[[phase.job]]
op = "write"
block_size = "1m"
pattern = "sequential"

[[phase]]
name = "reads"
repeat = 5

[[phase.job]]
op = "read"
block_size = "4k"
pattern = "random"
outstanding = 8
runtime = "400ms"
ramp = "50ms"

[[phase]]
name = "writes"
repeat = 5

[[phase.job]]
op = "write"
block_size = "16k"
pattern = "random"
outstanding = 4
runtime = "400ms"
ramp = "50ms"
PLAN

# Verdicts of one comparison in a word each.
words() {
	"$assay" compare "$@" --json 2> /dev/null | sed -n 's/.*"verdict": "\(better\|worse\|equivalent\|no_evidence\)".*/\1/p' | sort | uniq -c | tr '\n' ' '
}

measure() {
	"$assay" --quiet run "$here/plan.toml" --target "$here" --json 2> /dev/null | sed -n 's/^  "id": "\(.*\)",$/\1/p'
}

alarms=0 all=""
for pair in $(seq "$pairs"); do
	a=$(measure) b=$(measure)
	all="$all $a $b"
	said=$(words "$a" "$b")
	case $said in *better* | *worse*) alarms=$((alarms + 1)) ;; esac
	echo "pair $pair: $said"
done
echo "$alarms of $pairs pairs had a better or worse, repetitions within single runs being the unit"

# Disjoint groups of ten runs in the order in which they were made, in turns to the sides.
set -- $all
groups=0 alarms=0
while [ $# -ge 10 ]; do
	said=$(words "$1" "$3" "$5" "$7" "$9" --vs "$2" "$4" "$6" "$8" "${10}")
	groups=$((groups + 1))
	case $said in *better* | *worse*) alarms=$((alarms + 1)) ;; esac
	echo "group $groups: $said"
	shift 10
done
echo "$alarms of $groups comparisons of five runs with five had a better or worse"
