package main

import (
	"context"
	"database/sql"

	"github.com/trendvidstream/ingest/bench/report"
)

const title = "The quota ledgers, measured"

const howToRun = "`make bench`, or in `bench/`: `go run ./ledgers -write`" + `. It needs redis-server 7 or newer (` + "`REDIS_SERVER`" + ` or in
` + "`PATH`" + `) and starts one of its own on a free loopback port; nothing else is touched. ` + "`-only speed,memory,writers,exact,sqlite,shared`" + `
runs parts, ` + "`-batches N`" + ` makes it shorter or calmer, ` + "`-disk DIR`" + ` says where fsync is real, ` + "`-memory DIR`" + ` where it is free. The peers
are pinned by the ` + "`go.mod`" + ` of ` + "`bench/`" + `, a module of its own. Everything here is the output of one run; ok and miss are computed
from its figures. Compare ratios: microseconds belong to the machine.`

// machine records the machine of the figures.
func machine(ctx context.Context, s *server, r *report.Report) error {
	redisVersion, err := s.info(ctx, "server", "redis_version")
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var sqliteVersion string
	if err := db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&sqliteVersion); err != nil {
		return err
	}
	r.Machine("Redis "+redisVersion, "SQLite "+sqliteVersion, "go-redis "+report.VersionOf("github.com/redis/go-redis/v9"))
	return nil
}

// label returns the peer's name with its version.
func (p peer) label() string {
	if p.module == "" {
		return p.name
	}
	return p.name + " " + report.VersionOf(p.module)
}
