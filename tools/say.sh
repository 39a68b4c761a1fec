#!/bin/sh
# Runs the tests whose names match a pattern and prints what they log as they log it, without go test's
# own marks, and all of it when one fails: say.sh PATTERN PACKAGE...
set -eu
pattern=$1
shift
REDIS_SERVER="$(sh "$(dirname "$0")/redis-server.sh")"
POSTGRES_BIN="$(sh "$(dirname "$0")/postgres.sh")"
export REDIS_SERVER POSTGRES_BIN
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
{ go test -count=1 -timeout 24h -v -run "$pattern" "$@" 2>&1 || touch "$dir/failed"; } | tee "$dir/log" | awk '
	/^(=== |PASS|ok|\?|testing: warning)/ || /^ *--- / { next }
	{ sub(/^ +[a-z0-9_]+_test\.go:[0-9]+: /, ""); sub(/^        /, ""); print; fflush(); said = 1 }
	END { exit !said }' || { echo "no test named $pattern said anything" >&2; exit 1; }
[ ! -e "$dir/failed" ] || { cat "$dir/log"; exit 1; }
