#!/bin/sh
# Prints the main screens of the program given as $1, as Markdown, against the stand-in and at a fixed time: in 80 columns
# and in 160.
set -eu
ingest=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
dir=$(mktemp -d)
INGEST_NOW=2026-02-14T09:40:00Z "$ingest" simulate --quiet >"$dir/url" &
simulator=$!
trap 'kill $simulator; rm -rf "$dir"' EXIT
until [ -s "$dir/url" ]; do sleep 0.1; done
INGEST_UPSTREAM_URL=$(sed 's/.*"url":"\([^"]*\)".*/\1/' "$dir/url")
export HOME="$dir" INGEST_UPSTREAM_URL INGEST_NOW INGEST_DATA COLUMNS
screen() {
	printf '\n### ingest %s\n\n```\n' "$*"
	"$ingest" "$@" 2>&1 | grep -v 'INGEST_NOW has moved' |
		sed "s|$INGEST_UPSTREAM_URL|http://127.0.0.1:8099/|; s|$dir|/home/me|g; s/-dirty (go/ (go/" |
		awk -v most="$most" 'NR <= most; NR == most + 1 { print "..." }'
	echo '```'
}
most=60 # lines of a screen; what is cut ends with ...
screens() {
	mkdir "$dir/$1"
	cd "$dir/$1"
	COLUMNS=$1 INGEST_DATA=data INGEST_NOW=2026-02-14T09:40:00Z
	printf '\n## In %s columns\n' "$COLUMNS"
	screen config check
	screen run
	screen chart US --limit 10
	screen search trailer --limit 5
	INGEST_NOW=2026-02-14T10:40:00Z
	"$ingest" run --quiet
	most=14
	screen chart US --compare 1h
	most=60
	screen slots --region DE
	screen slots --next 8
	screen quota
	screen quota take search.list
	screen backfill plan uploads UC_x5XG1OV2P6uZZ5FSM9Ttw
	screen backfill status
	screen doctor
}
echo "# Screens"
echo
echo "What the main commands print. Made by \`make transcript\`."
screens 80
screens 160
