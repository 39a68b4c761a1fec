#!/bin/sh
# Runs one demonstration: prove.sh NAME. Without a name it lists all; "names" prints the names alone.
# make prove NAME=faults, or make faults, runs one. From the environment: KILLS, SOAK, FUZZTIME, BASE, VERSION.
set -eu
cd "$(dirname "$0")/.."

# name | what it shows or writes | command
proofs='
boundary | No burst at the edge of a window gets more than its limit | say ^TestBoundary ./quota/...
api | The API keeps its OpenAPI document, the limits per client what they promise; then the tour of docs/api.md | api
limits | Limits per client: exact over two serve, for programs in Python and JavaScript, and behind nginx and Caddy | say ^TestLongLimits ./cmd/ingest
faults | Redis, PostgreSQL, the journal and the upstream broken: a line per fault, judged by the upstream'"'"'s own count | say ^Test(Long)?Fault ./cmd/ingest ./quota/redisledger ./quota/pgledger
crashloop | Processes killed at random, and the leader of three KILLS (200) times: every slot is committed once | CRASHLOOP_KILLS=${KILLS:-200} say ^TestCrashLoop ./cmd/ingest
scale-demo | Three machines on one PostgreSQL, two of them killed, then an upgrade: who took over, and the account | say ^TestLong(ScaleDemo|TheProgramOfTheCommitBeforeStarvesNoOther)$ ./cmd/ingest
soak | Random faults and simulated years for SOAK (10m); the seed of a failure is printed | soak
backfill-demo | A backfill killed and resumed over a week, and all kinds in all troubles, into docs/backfill.md | say ^(TestBackfillThroughAWeek|TestLongBackfillsInTrouble)$ ./cmd/ingest -args -update
gateway-demo | Two scripts and a schedule on a day with too little quota: who got what; then clients that nobody here wrote; needs curl | built gateway_demo
e2e | All pages in chromium, in worlds where something is wrong; installs chromium, node, and by npm what it needs | built sh tools/e2e/run.sh bin/ingest
race | Tests of what goroutines and processes share, three times, races detected | race
fuzz | Every fuzz target for FUZZTIME (10s) | FUZZTIME=${FUZZTIME:-10s} sh tools/fuzz.sh
transcript | The main screens, into docs/screens.md | built sh tools/transcript.sh bin/ingest > docs/screens.md.new && mv docs/screens.md.new docs/screens.md
size | Size and start of the program beside those of BASE, by default the last tag | sh tools/size.sh ${BASE:-}
cross | The program builds for every platform of tools/platforms | cross
dist-check | Two builds of a release are equal, pass lintian and rpmlint, install, upgrade and purge; as root on Debian | sh tools/dist-check.sh
vuln | No linked module, nor the Go version, has a known vulnerability; needs vuln.go.dev | go run golang.org/x/vuln/cmd/govulncheck@latest -tags grpcnotrace ./cmd/ingest
modules | The linked modules with their newest releases, into docs/modules.md | sh tools/modules.sh >docs/modules.md.new && mv docs/modules.md.new docs/modules.md
'

servers() {
	REDIS_SERVER="$(sh tools/redis-server.sh)"
	POSTGRES_BIN="$(sh tools/postgres.sh)"
	export REDIS_SERVER POSTGRES_BIN
}
api() {
	sh tools/say.sh '^Test(TheAPI|TheContract|Served|Answers|OnlyListed|Pages|RetryAfter|The61st|AFlood|Forged|ASlow)' ./internal/web ./quota/httplimit
	sh tools/say.sh '^Test(TheAPI|LongAHundredThousandVideos$)' ./cmd/ingest
	go test -count=1 -run '^TestScripts$/^api$' ./cmd/ingest
}
gateway_demo() {
	sh tools/gateway-demo.sh bin/ingest
	sh tools/say.sh '^TestLong(Googles|AForeignYouTubeTool)' ./internal/gateway
}
soak() {
	export SOAK="${SOAK:-10m}"
	sh tools/say.sh '^Test(Soak|FaultStorms)' ./internal/simulation ./quota/... ./cmd/ingest
	sh tools/say.sh '^Test((Long)?Fault(Store|Backup|Many)|AFlippedByte|ADamagedPage)' ./store ./cmd/ingest
}
race() {
	servers
	CGO_ENABLED=1 go test -race -shuffle=on -count=3 -skip '^Test(Long[A-Z]|Fault[A-Z]|Soak|CrashLoop|BackfillThroughAWeek)' ./quota/... ./store/... ./fetch/... ./regions/... ./internal/...
}
cross() {
	while read -r platform; do
		echo "building $platform"
		sh tools/build.sh "${VERSION:-dev}" /dev/null "$platform"
	done <tools/platforms
}

case ${1:-} in
'') echo "$proofs" | awk -F ' [|] ' 'NF > 2 { printf "  make prove NAME=%-13s %s\n", $1, $2 }' && exit ;;
names) echo "$proofs" | awk -F ' [|] ' 'NF > 2 { print $1 }' && exit ;;
esac
command=$(echo "$proofs" | awk -v name="$1" 'index($0, name " | ") == 1 { sub(/^[^|]* \| [^|]* \| /, ""); print }')
case $command in
'')
	echo "there is no demonstration $1; make prove lists all" >&2
	exit 2
	;;
*say\ *) # a pattern of names, and packages
	eval "$(echo "${command%%say *}" | sed 's/^\(.\)/export \1/')"
	set -f
	# shellcheck disable=SC2086 # one argument each
	exec sh tools/say.sh ${command#*say } ;;
built\ *)
	make --no-print-directory build
	eval "${command#built }" ;;
*) eval "$command" ;;
esac
