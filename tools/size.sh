#!/bin/sh
# The size of the program and how long it takes to start, beside those of another commit: size.sh [COMMIT], by default the last
# tag, or else a hundred commits ago. Starts are measured in turns, so that a busy machine is busy for both.
set -eu
cd "$(dirname "$0")/.."
base=${1:-$(git describe --tags --abbrev=0 2>/dev/null || git rev-parse --short HEAD~100)}
work=$(mktemp -d)
trap 'git worktree remove --force "$work/base" 2>/dev/null || true; rm -rf "$work"' EXIT
git worktree add -q --detach "$work/base" "$base"
sh tools/build.sh now "$work/now"
cp tools/build.sh "$work/build.sh"
(cd "$work/base" && sh "$work/build.sh" before "$work/before")
once() { # milliseconds of two starts: one that reads nothing, one that opens a ledger
	began=$(date +%s%N)
	"$1" version >/dev/null
	between=$(date +%s%N)
	HOME=$work INGEST_CONFIG="" "$1" quota --quiet --data "$1.data" >/dev/null
	ended=$(date +%s%N)
	echo "$(((between - began) / 1000)) $(((ended - between) / 1000))" >>"$1.times"
}
turns=0
while [ "$turns" -lt 41 ]; do
	once "$work/before"
	once "$work/now"
	turns=$((turns + 1))
done
median() { cut -d ' ' -f "$2" "$1.times" | sort -n | sed -n 21p; }
echo "| program | bytes | ingest version, ms | ingest quota, ms |"
echo "| --- | --- | --- | --- |"
for of in before now; do
	name=$base
	[ "$of" = before ] || name=$(git rev-parse --short HEAD)
	for n in 1 2; do median "$work/$of" $n; done | awk -v name="$name" -v bytes="$(wc -c <"$work/$of")" 'NR == 1 { a = $1 } END { printf "| %s | %d | %.1f | %.1f |\n", name, bytes, a / 1000, $1 / 1000 }'
done
