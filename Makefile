# make help says what there is. Needs Go and make; the tests need gcc too (for the race detector).
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# Weeks, storms, kills, full sizes and faults of the whole program are tests of these names. make test leaves them out and make test-long
# runs them, but for those that only scale-demo, backfill-demo and api run; go test ./... by hand runs everything.
SHOWN = TestLong(ScaleDemo|TheProgramOfTheCommitBeforeStarvesNoOther|BackfillsInTrouble|AHundredThousandVideos)
LONG = Test(Long[A-Z]|Fault[A-Z]|Soak|CrashLoop|BackfillThroughAWeek)

# All that the detector sees is compiled a second time: make test goes without, and make test-long detects races, in what
# goroutines share. SQLite's C code works in memory that is not Go's, which the detector does not watch: it is compiled
# without, or it would be ten times slower. The stand-ins and the whole program are run by
# other packages' tests; the detector changes what fetch/youtube and fetch/dailymotion allocate; most of quotatest's own tests
# are of broken ledgers. UNRACED are the longest tests of the others: what they do at once, shorter ones do as well. Of
# the store and the ledgers on disk and on servers only what is done AT_ONCE is raced; make race runs all of it.
RACED = ./quota/sharedledger ./quota ./quota/httplimit ./quota/memledger ./quota/internal/... ./quota/quotatest/memremote ./fetch ./fetch/wire ./regions ./internal/faulty ./internal/gateway ./internal/service ./internal/web
UNRACED = Test((Differential|NoWalk|NoRandom|AMoveBetween|DrainsMove|PostsAnd|Between|LatestAnd|AnyLine|ADailyTime).*|Storms|Hosts|AFloodOfAddressesIsBoundedAndHurtsNoOtherClient)
RACED_AT_ONCE = ./store ./store/storetest ./quota/redisledger ./quota/pgledger ./quota/sqliteledger ./quota/quotatest
RACE = -race -gcflags=modernc.org/sqlite/lib=-race=false
AT_ONCE = Test(Conformance|Journal|Store|.*(Many|AtOnce|While|Panic|Queue|Waiting|Restarted|InDoubt|Broke).*)$$/(A7|at_once|HoweverMany|Whole)

# testsum prints a line per package, and every skip. ALLOW_SKIPS=FILE makes a skip that FILE does not name a
# failure; .ci/run does so.
TESTSUM = .tools/testsum$(EXE) $(if $(ALLOW_SKIPS),-allow $(ALLOW_SKIPS)) -- $(GOTEST)

# go vet is make lint's. Go builds outside of memory (GOTMPDIR), and tests write in memory where there is room: GOTMPDIR
# stands in a file, since t.TempDir would obey the variable. No flag here keeps go from caching results; .ci/run adds
# -shuffle=on. What no debugger will see is compiled without what only a debugger reads.
UNDEBUGGED = -gcflags='./...=-dwarf=false' -ldflags=-s
GOTEST = -vet=off -timeout 30m $(UNDEBUGGED)
FOR_TESTS = mkdir -p .tools && { cat "$$(go env GOENV)" 2>/dev/null; echo "GOTMPDIR=$${TMPDIR:-/tmp}"; } >.tools/goenv && \
	REDIS_SERVER="$$(sh tools/redis-server.sh)" && POSTGRES_BIN="$$(sh tools/postgres.sh)" && TMPDIR="$$(sh tools/testdir.sh)" && \
	GOENV="$$PWD/.tools/goenv" && export REDIS_SERVER POSTGRES_BIN TMPDIR GOENV && unset GOTMPDIR && \
	go build -o .tools/testsum$(EXE) ./tools/testsum

PREFIX ?= /usr/local
EXE     = $(shell go env GOEXE 2>/dev/null)

.DEFAULT_GOAL := help
PROOFS := $(if $(wildcard tools/prove.sh),$(shell sh tools/prove.sh names))
.PHONY: help build install uninstall demo test test-long lint fmt bench economy prove $(PROOFS) dist release check clean

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

demo: build ## See it work in under a minute: no key, no server, nothing to install
	bin/ingest$(EXE) demo

# The packages that take longest begin first. Four run at once, since most tests wait, and cmd/ingest is three processes
# (see its parts_test.go). With GOGC=400 garbage is collected less often: no test needs much memory.
SLOW = ./cmd/ingest ./store ./store/storetest ./quota/redisledger ./quota/sharedledger ./quota/pgledger
test: ## Test every package and the program where nothing is broken; go caches the results; installs redis-server, postgresql and pgbouncer
	@$(FOR_TESTS) && GOGC=400 $(TESTSUM) -parallel 8 -p 4 -skip '^$(LONG)' $(TESTFLAGS) $(SLOW) ./...

# Fleets wait most of the time for leases and clocks: they begin at once, in a process of their own, four at a time (with
# more, two cores are too busy for fleets of three machines to be on time). The command's other long tests change what a
# process has once, and run one after the other: in two processes of the same length. All else runs beside these.
FLEETS  = ^Test(LongFault|CrashLoop)
MOVES   = ^TestLongNo
LONGRUN = -shuffle=on $(TESTFLAGS) -run '^$(LONG)'
test-long: ## Test weeks, storms, random kills and full sizes, and detect races in what goroutines share
	@$(FOR_TESTS) && \
	{ $(TESTSUM) -shuffle=on $(TESTFLAGS) -parallel 4 -run '$(FLEETS)' ./cmd/ingest \
	-- $(GOTEST) $(LONGRUN) -parallel 8 -skip '^$(SHOWN)$$|$(FLEETS)|$(MOVES)' ./cmd/ingest \
	-- $(GOTEST) -shuffle=on $(TESTFLAGS) -run '$(MOVES)' -skip '^$(SHOWN)$$' ./cmd/ingest & waits=$$!; \
	$(TESTSUM) $(LONGRUN) -parallel 8 -p 2 -skip '^$(SHOWN)$$' $$(grep -rlE --include='*_test.go' --exclude-dir='.?*' --exclude-dir=bench '^func $(LONG)' . | xargs -n1 dirname | sort -u | grep -vx ./cmd/ingest) && \
	CGO_ENABLED=1 $(TESTSUM) -p 2 -shuffle=on $(RACE) -skip '^$(LONG)|^$(UNRACED)$$' $(TESTFLAGS) $(RACED) && \
	CGO_ENABLED=1 $(TESTSUM) -p 2 -shuffle=on $(RACE) -run '^$(AT_ONCE)' -skip '^$(LONG)' $(TESTFLAGS) $(RACED_AT_ONCE); beside=$$?; \
	wait $$waits && [ $$beside = 0 ]; }

lint: .tools/golangci-lint ## Check form, correctness, imports, go.mod, the systemd units and the manifests of containers
	@unformatted="$$(gofmt -l .)"; [ -z "$$unformatted" ] || { echo "not formatted, try make fmt:" $$unformatted; exit 1; }
	go vet ./...
	go mod tidy -diff
	cd bench && go mod tidy -diff && go vet ./...
	cd tools/dist && go mod tidy -diff && go vet ./...
	cd tools/manifests && go mod tidy -diff && go vet ./... && go test ./...
	.tools/golangci-lint run
	@sh tools/systemd-verify.sh

fmt: .tools/golangci-lint ## Format the code as make lint wants it
	.tools/golangci-lint fmt

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

prove: ## Run one demonstration: NAME=faults, or simply make faults; without NAME list them
	@KILLS="$(KILLS)" SOAK="$(SOAK)" FUZZTIME="$(FUZZTIME)" BASE="$(BASE)" VERSION="$(VERSION)" sh tools/prove.sh $(NAME)

$(PROOFS):
	@$(MAKE) --no-print-directory prove NAME=$@

dist: ## Pack a release into dist/: archives, .deb, .rpm, an OCI image, a formula, bills of materials, checksums
	@sh tools/dist.sh "$(VERSION)"

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
