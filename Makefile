# make help says what there is. Needs Go and make; the tests need gcc too (for the race detector).
FUZZTIME ?= 10s
SOAK ?= 10m
KILLS ?= 200
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# What several goroutines or processes share.
CONCURRENT = ./quota/... ./store/... ./fetch/... ./regions/... ./internal/...

# Weeks, storms, random kills and full sizes are tests of these names. make test leaves them out and make test-long
# runs them, but for those that only scale-demo, backfill-demo and api run; go test ./... by hand runs everything.
SHOWN = TestLong(ScaleDemo|TheProgramOfTheCommitBeforeStarvesNobody|BackfillsInTrouble|AHundredThousandVideos)
LONG = Test(Long[A-Z]|Soak|CrashLoop|BackfillThroughAWeek|FaultStorms|FaultKilledAtRandom)

# The detector makes SQLite ten times slower, and all that stands on it is compiled a second time: make test goes
# without and make test-long detects races, in what goroutines share. The stand-ins and the whole program are run by
# other packages' tests; the detector changes what fetch/youtube and fetch/dailymotion allocate; quotatest's own tests
# are of broken ledgers. UNRACED are the longest tests of the others: what they do at once, shorter ones do as well. Of
# the store and the ledgers on disk and on servers only what is done AT_ONCE is raced; make race runs all of it.
RACED = ./quota/sharedledger ./quota ./quota/httplimit ./quota/memledger ./quota/internal/... ./quota/quotatest/memremote ./fetch ./fetch/wire ./regions ./internal/faulty ./internal/gateway ./internal/service ./internal/web
UNRACED = Test(Differential.*|Storms|Hosts|AFloodOfAddressesIsBoundedAndHurtsNobodyElse|AChannelThatGivesLessThanItSaysIsIncomplete)
RACED_AT_ONCE = ./store ./quota/redisledger ./quota/pgledger ./quota/sqliteledger
AT_ONCE = Test(Conformance|Journal|Store|.*(Many|AtOnce|While|Panic|Queue|Waiting|Restarted|InDoubt|Broke).*)$$/(A7|at_once|HoweverMany|Whole)

# testsum prints a line per package, and every skip. ALLOW_SKIPS=FILE makes a skip that FILE does not name a
# failure; .ci/run does so.
TESTSUM = .tools/testsum$(EXE) $(if $(ALLOW_SKIPS),-allow $(ALLOW_SKIPS)) -- $(GOTEST)

# go vet is make lint's. What go builds stays out of memory (GOTMPDIR), and what tests write does not.
GOTEST = -vet=off -shuffle=on -timeout 30m -exec 'env -u GOTMPDIR'

PREFIX ?= /usr/local
EXE     = $(shell go env GOEXE 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help build install uninstall transcript demo test test-long race lint fmt fuzz bench economy boundary api e2e faults crashloop scale-demo soak backfill-demo gateway-demo size cross dist dist-check release check clean

help: ## Say what each target does
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: ## Build bin/ingest: static, its version from git
	@sh tools/build.sh "$(VERSION)" bin/ingest$(EXE)

# Root may have no Go, and need not build again what make build has built.
install: ## Install what was built to PREFIX/bin (/usr/local), and its units where systemd finds them; DESTDIR goes before
	@[ -f bin/ingest$(EXE) ] || $(MAKE) build
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/systemd/system
	install -m 755 bin/ingest$(EXE) $(DESTDIR)$(PREFIX)/bin/ingest$(EXE)
	install -m 644 packaging/systemd/* $(DESTDIR)$(PREFIX)/lib/systemd/system

uninstall: ## Remove what install has put there; the data stays
	rm -f $(DESTDIR)$(PREFIX)/bin/ingest$(EXE) $(addprefix $(DESTDIR)$(PREFIX)/lib/systemd/system/,$(notdir $(wildcard packaging/systemd/*)))

transcript: build ## Print the main screens into docs/screens.md
	sh tools/transcript.sh bin/ingest$(EXE) > docs/screens.md.new && mv docs/screens.md.new docs/screens.md

demo: build ## See it work in under a minute: no key, no server, nothing to install
	bin/ingest$(EXE) demo

# What takes longest begins, and waits most of the time: two other packages run beside it.
SLOW = ./cmd/ingest ./store ./quota/redisledger ./quota/sharedledger ./quota/pgledger
test: ## Test every promise in random order; installs redis-server, postgresql and pgbouncer
	@REDIS_SERVER="$$(sh tools/redis-server.sh)" && POSTGRES_BIN="$$(sh tools/postgres.sh)" && export REDIS_SERVER POSTGRES_BIN && \
	export GOTMPDIR="$${TMPDIR:-/tmp}" TMPDIR="$$(sh tools/testdir.sh)" && \
	go build -o .tools/testsum$(EXE) ./tools/testsum && \
	$(TESTSUM) -p 3 -parallel 8 -skip '^$(LONG)' $(TESTFLAGS) $(SLOW) ./...

# What kills processes and waits for their leases waits most of the time: all else runs beside it.
LONGTEST = $(TESTSUM) -parallel 8 -run '^$(LONG)' -skip '^$(SHOWN)$$' $(TESTFLAGS)
test-long: ## Test weeks, storms, random kills and full sizes, and detect races in what goroutines share
	@REDIS_SERVER="$$(sh tools/redis-server.sh)" && POSTGRES_BIN="$$(sh tools/postgres.sh)" && export REDIS_SERVER POSTGRES_BIN && \
	export GOTMPDIR="$${TMPDIR:-/tmp}" TMPDIR="$$(sh tools/testdir.sh)" && \
	go build -o .tools/testsum$(EXE) ./tools/testsum && \
	{ $(LONGTEST) ./cmd/ingest & waits=$$!; \
	$(LONGTEST) -p 2 $$(grep -rlE --include='*_test.go' --exclude-dir='.?*' --exclude-dir=bench '^func $(LONG)' . | xargs -n1 dirname | sort -u | grep -vx ./cmd/ingest) && \
	CGO_ENABLED=1 $(TESTSUM) -p 2 -race -skip '^$(LONG)|^$(UNRACED)$$' $(TESTFLAGS) $(RACED) && \
	CGO_ENABLED=1 $(TESTSUM) -p 2 -race -run '^$(AT_ONCE)' -skip '^$(LONG)' $(TESTFLAGS) $(RACED_AT_ONCE); beside=$$?; \
	wait $$waits && [ $$beside = 0 ]; }

race: ## Run the tests of what is shared by goroutines and processes three times over, races detected
	@REDIS_SERVER="$$(sh tools/redis-server.sh)" && POSTGRES_BIN="$$(sh tools/postgres.sh)" && export REDIS_SERVER POSTGRES_BIN && \
	CGO_ENABLED=1 go test -race -shuffle=on -count=3 -skip '^$(LONG)' $(CONCURRENT)

lint: .tools/golangci-lint ## Check form, correctness, imports, go.mod and the systemd units
	@unformatted="$$(gofmt -l .)"; [ -z "$$unformatted" ] || { echo "not formatted, try make fmt:" $$unformatted; exit 1; }
	go vet ./...
	go mod tidy -diff
	cd bench && go mod tidy -diff && go vet ./...
	cd tools/dist && go mod tidy -diff && go vet ./...
	.tools/golangci-lint run
	@sh tools/systemd-verify.sh

vuln: ## Look every linked module and the Go version up in the database of vulnerabilities (needs vuln.go.dev)
	go run golang.org/x/vuln/cmd/govulncheck@latest -tags grpcnotrace ./cmd/ingest

modules: ## List the linked modules with their newest releases in docs/modules.md (needs the module proxy)
	sh tools/modules.sh >docs/modules.md.new && mv docs/modules.md.new docs/modules.md

fmt: .tools/golangci-lint ## Format the code as make lint wants it
	.tools/golangci-lint fmt

fuzz: ## Run every fuzz target for FUZZTIME (10s) each
	@FUZZTIME="$(FUZZTIME)" sh tools/fuzz.sh

bench: ## Run the benchmarks, and measure the ledgers, the store, many machines and the gateway against their peers into bench/RESULTS.md
	go test -run '^$$' -bench . -benchmem ./...
	@REDIS_SERVER="$$(sh tools/redis-server.sh)" && POSTGRES_BIN="$$(sh tools/postgres.sh)" && export REDIS_SERVER POSTGRES_BIN && cd bench && go run ./ledgers -write
	cd bench && go run ./store -write
	@POSTGRES_BIN="$$(sh tools/postgres.sh)" && export POSTGRES_BIN && cd bench && go run ./scale -write
	cd bench && go run ./httplimit -write
	@REDIS_SERVER="$$(sh tools/redis-server.sh)" && export REDIS_SERVER && cd bench && go run ./gateway -write

# ECONOMY="-resume FILE" keeps what has been simulated, for when it is interrupted.
economy: ## Simulate weeks of this program and of naive cron scripts under quotas of all sizes, into bench/ECONOMY.md
	cd bench && go run ./economy -write $(ECONOMY)

boundary: ## Show that no burst at the edge of a window gets more than its limit
	@sh tools/say.sh '^TestBoundary' ./quota/...

api: ## Hold the API to its OpenAPI document, and the limits per client to what they promise; then the tour of docs/api.md
	@sh tools/say.sh '^Test(TheAPI|TheContract|Served|Answers|OnlyListed|Pages|SlowClients|NeverMore|RetryAfter|The61st|AFlood|Forged|ASlow)' ./internal/web ./quota/httplimit
	@sh tools/say.sh '^TestLongAHundredThousandVideos$$' ./cmd/ingest
	go test -count=1 -run '^TestScripts$$/^api$$' ./cmd/ingest

e2e: build ## Look at all pages in chromium, in worlds where something is wrong; installs chromium, node, and by npm what it needs
	sh tools/e2e/run.sh bin/ingest$(EXE)

faults: ## Break Redis, PostgreSQL, the journal and the upstream: a line per fault, judged by the upstream's own count
	@sh tools/say.sh '^Test(Long)?Fault' ./cmd/ingest ./quota/redisledger ./quota/pgledger

crashloop: ## Kill three processes at random, and the leader of three on one PostgreSQL KILLS (200) times: every slot is committed once
	@CRASHLOOP_KILLS="$(KILLS)" sh tools/say.sh '^TestCrashLoop' ./cmd/ingest

scale-demo: ## Three machines on one PostgreSQL, two of them killed: who took over, and the account; then an upgrade; installs postgresql
	@sh tools/say.sh '^TestLong(ScaleDemo|TheProgramOfTheCommitBeforeStarvesNobody)$$' ./cmd/ingest

soak: ## Random faults and simulated years for SOAK (10m), the store killed 200 times and damaged; the seed of a failure is printed
	@SOAK="$(SOAK)" sh tools/say.sh '^Test(Soak|FaultStorms)' . ./quota/... ./cmd/ingest
	@SOAK="$(SOAK)" sh tools/say.sh '^Test((Long)?Fault(Store|Backup|Many)|AFlippedByte|ADamagedPage)' ./store ./cmd/ingest

gateway-demo: build ## Two scripts and a schedule on a day with too little quota: who got what, in under a minute; needs curl
	@sh tools/gateway-demo.sh bin/ingest$(EXE)

backfill-demo: ## A backfill killed and resumed over a week, and all kinds in all troubles, into docs/backfill.md
	@sh tools/say.sh '^(TestBackfillThroughAWeek|TestLongBackfillsInTrouble)$$' ./cmd/ingest -args -update

size: ## Measure the program's size and start beside those of BASE, by default the last tag
	@sh tools/size.sh $(BASE)

cross: ## Build for every platform of tools/platforms: built, not tested
	@for p in $$(cat tools/platforms); do echo "building $$p"; sh tools/build.sh "$(VERSION)" /dev/null $$p || exit 1; done

dist: ## Pack a release into dist/: archives, .deb, .rpm, an OCI image, a formula, bills of materials, checksums
	@sh tools/dist.sh "$(VERSION)"

dist-check: ## Build the release twice and compare; lintian, rpmlint; install, upgrade and purge it in a root made for it; run the image (as root)
	@sh tools/dist-check.sh

release: ## Pack VERSION=v0.1.0, if that is tagged, clean and green; SIGNING_KEY=FILE signs its checksums
	@sh tools/release.sh "$(VERSION)"

check: lint test ## Everything that must pass before a change goes in

clean: ## Remove what was built
	rm -rf bin dist .tools

# Pinned by tools/golangci, a module of its own so that its 200 modules stay out of ours; built from
# source, about a minute on two cores.
.tools/golangci-lint: tools/golangci/go.mod tools/golangci/go.sum
	@echo "building golangci-lint, once"
	cd tools/golangci && CGO_ENABLED=0 go build -trimpath -o ../../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
