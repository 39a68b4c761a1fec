#!/bin/sh
# tools/gateway-demo.sh INGEST: a starved day in under a minute. The charts of eight regions, every half hour, and two
# scripts that ask a gateway with curl, want 864 units of the 600 that there are. Prints who got what.
set -eu
ingest=$1
dir=$(mktemp -d) began=$(date +%s) sim='' gateway=''
trap 'kill $gateway $sim 2>/dev/null || :; wait; rm -rf "$dir"' EXIT
sed 's/units: {24h: 10000, day: 10000}/units: {24h: 600, day: 600}/' costs.yaml >"$dir/costs.yaml"
cat >"$dir/ingest.yaml" <<END
data: $dir/data
costs: $dir/costs.yaml
jobs: [{name: chart, kind: chart, regions: [US, GB, DE, FR, IN, BR, AU, CA], every: 30m, pages: 1}]
clients:
  monday: {token_sha256: $(printf %s token-of-monday | sha256sum | cut -d' ' -f1)}
  friday: {token_sha256: $(printf %s token-of-friday | sha256sum | cut -d' ' -f1)}
END
export INGEST_CONFIG="$dir/ingest.yaml"

"$ingest" simulate --listen 127.0.0.1:0 >"$dir/sim" 2>"$dir/log" & sim=$!
until grep -q '"url"' "$dir/sim"; do sleep 0.1; done
INGEST_UPSTREAM_URL=$(sed -n 's/.*"url": *"\([^"]*\)".*/\1/p' "$dir/sim" | head -1)
export INGEST_UPSTREAM_URL

# ask NAME N: as often as it may, N times; prints what came of it.
ask() {
	curl -s -o /dev/null -w '%{http_code}\n' "$url/youtube/v3/videos?part=snippet&id=$1-$hour-[1-$2]&key=token-of-$1" |
		sort | uniq -c | awk '{ n[$2] = $1; all += $1 } END { printf "%3d served, %3d refused", n[200], n[403] + n[429]; if (all > n[200] + n[403] + n[429]) print "; others:"; for (s in n) if (s != 200 && s != 403 && s != 429) print n[s], "of", s }'
}

echo 'Los Angeles   script monday             script friday             charts'
for hour in 0 6 12 18; do
	at=$(date -u -d "2026-11-24 08:00:40 UTC + $hour hours" +%Y-%m-%dT%H:%M:%SZ)
	: >"$dir/gateway-$hour"
	INGEST_NOW=$at "$ingest" gateway --listen 127.0.0.1:0 2>"$dir/gateway-$hour" & gateway=$!
	until url=$(sed -n 's,.*listens at \(http[^ ]*\)/ .*,\1,p' "$dir/gateway-$hour") && [ -n "$url" ]; do sleep 0.1; done
	ask monday 60 >"$dir/monday" & one=$!
	ask friday 60 >"$dir/friday" & other=$!
	wait $one $other
	kill $gateway; wait $gateway 2>/dev/null || :
	done=0
	for half in 0 1 2 3 4 5 6 7 8 9 10 11; do
		at=$(date -u -d "2026-11-24 08:29:40 UTC + $hour hours + $((half * 30)) minutes" +%Y-%m-%dT%H:%M:%SZ)
		n=$(INGEST_NOW=$at "$ingest" run --jq '[.regions[] | select(.outcome == "done")] | length' 2>>"$dir/log")
		done=$((done + n))
	done
	printf '%02d:00 to %02d:00  %s  %s  %d\n' $hour $((hour + 6)) "$(cat "$dir/monday")" "$(cat "$dir/friday")" $done
done
echo
INGEST_NOW=$at "$ingest" quota --since 1d 2>/dev/null
echo "the stand-in for YouTube counted: $(curl -s "${INGEST_UPSTREAM_URL}sim/ledger" | tr -d '\n' | grep -o '"units": *{[^}]*}' | head -1)"
echo "that took $(($(date +%s) - began)) s"
