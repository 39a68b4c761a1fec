#!/bin/sh
# Runs every Fuzz target of the module for $FUZZTIME each (default 10s): go test takes one at a time.
set -eu

: "${FUZZTIME:=10s}"
targets=$(grep -r --include='*_test.go' --exclude-dir='.?*' --exclude-dir=bench -o '^func Fuzz[A-Za-z0-9_]*(' . | sort) || true
if [ -z "$targets" ]; then
	echo "no fuzz target in the tree"
	exit 0
fi
echo "$targets" | while IFS=: read -r file func; do
	name=${func#func }
	name=${name%(}
	echo "== $(dirname "$file") $name, $FUZZTIME"
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$FUZZTIME" "$(dirname "$file")" </dev/null
done
