# make help says what there is. Needs Go and make; the tests need gcc too (for the race detector).
FUZZTIME ?= 10s
SOAK ?= 10m
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# Another operating system or processor: built and not tested.
PLATFORMS = linux/amd64 linux/arm64 darwin/arm64 windows/amd64

# What several goroutines or processes share.
CONCURRENT = ./quota/... ./store/... ./fetch/... ./regions/... ./internal/...

LDFLAGS = -X main.version=$(VERSION)
EXE     = $(shell go env GOEXE)

.DEFAULT_GOAL := help
.PHONY: help build demo test race lint fmt fuzz bench boundary faults crashloop soak backfill-demo cross check clean

help: ## Say what each target does
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: ## Build bin/ingest: static, its version from git
	CGO_ENABLED=0 go build -trimpath -ldflags "$(LDFLAGS)" -o bin/ingest$(EXE) ./cmd/ingest

demo: build ## See it work in under a minute: no key, no server, nothing to install
	bin/ingest$(EXE) demo

# ALLOW_SKIPS=FILE makes every skip that FILE does not name a failure; .ci/run does so.
# The whole program is tested as it is built: the race detector slows its databases down tenfold, and what
# goroutines share lies in the other packages, of which the store takes longest and so begins.
test: ## Run every test in random order, races detected but for the whole program's; installs redis-server
	@REDIS_SERVER="$$(sh tools/redis-server.sh)" && export REDIS_SERVER && \
	go build -o .tools/testsum$(EXE) ./tools/testsum && \
	CGO_ENABLED=1 .tools/testsum$(EXE) $(if $(ALLOW_SKIPS),-allow $(ALLOW_SKIPS)) -- -race -shuffle=on $(TESTFLAGS) ./store $$(go list ./... | grep -v -e /cmd/ingest -e /store$$) && \
	.tools/testsum$(EXE) $(if $(ALLOW_SKIPS),-allow $(ALLOW_SKIPS)) -- -shuffle=on -timeout 20m $(TESTFLAGS) ./cmd/ingest

race: ## Run the tests of what is shared by goroutines and processes three times over, races detected
	@REDIS_SERVER="$$(sh tools/redis-server.sh)" && export REDIS_SERVER && \
	CGO_ENABLED=1 go test -race -shuffle=on -count=3 $(CONCURRENT)

lint: .tools/golangci-lint ## Check form, correctness, imports, go.mod and the systemd units
	@unformatted="$$(gofmt -l .)"; [ -z "$$unformatted" ] || { echo "not formatted, try make fmt:" $$unformatted; exit 1; }
	go vet ./...
	go mod tidy -diff
	cd bench && go mod tidy -diff && go vet ./...
	.tools/golangci-lint run
	@sh tools/systemd-verify.sh

fmt: .tools/golangci-lint ## Format the code as make lint wants it
	.tools/golangci-lint fmt

fuzz: ## Run every fuzz target for FUZZTIME (10s) each
	@FUZZTIME="$(FUZZTIME)" sh tools/fuzz.sh

bench: ## Run the benchmarks, and measure the ledgers and the store against their peers into bench/RESULTS.md
	go test -run '^$$' -bench . -benchmem ./...
	@REDIS_SERVER="$$(sh tools/redis-server.sh)" && export REDIS_SERVER && cd bench && go run ./ledgers -write
	cd bench && go run ./store -write

boundary: ## Show that no burst at the edge of a window gets more than its limit
	@sh tools/say.sh '^TestBoundary' ./quota/...

faults: ## Break Redis, the journal and the upstream: a line per fault, judged by the upstream's own count
	@sh tools/say.sh '^TestFault' ./cmd/ingest

crashloop: ## Kill three processes at random: every slot is committed once
	@sh tools/say.sh '^TestCrashLoop' ./cmd/ingest

soak: ## Random faults and simulated years for SOAK (10m), the store killed 200 times and damaged; the seed of a failure is printed
	@SOAK="$(SOAK)" sh tools/say.sh '^Test(Soak|FaultStorms)' ./quota/... ./cmd/ingest
	@SOAK="$(SOAK)" sh tools/say.sh '^Test(Fault(Store|Backup|Many)|AFlippedByte|ADamagedPage)' ./store ./cmd/ingest

backfill-demo: ## A backfill of three days' quota, killed and resumed over a week: items, units planned, spent, wasted
	@sh tools/say.sh '^TestBackfillThroughAWeek$$' ./cmd/ingest

cross: ## Build for every platform named: built, not tested
	@for p in $(PLATFORMS); do \
		echo "building $$p"; \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build -trimpath -o /dev/null ./cmd/ingest || exit 1; \
	done

check: lint test ## Everything that must pass before a change goes in

clean: ## Remove what was built
	rm -rf bin dist .tools

# Pinned by tools/golangci, a module of its own so that its 200 modules stay out of ours; built from
# source, about a minute on two cores.
.tools/golangci-lint: tools/golangci/go.mod tools/golangci/go.sum
	@echo "building golangci-lint, once"
	cd tools/golangci && CGO_ENABLED=0 go build -trimpath -o ../../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
