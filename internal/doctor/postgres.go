package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/trendvidstream/ingest/fetch/wire"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/pgledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// The checks of a PostgreSQL as a ledger.

const (
	oldestPostgres = 150000
	noPostgres     = "see that it runs and is reached from here: psql URL -c 'select 1'; until then cheap calls go on from the emergency budget"
)

// withPostgres makes a check that judges what a PostgreSQL says about itself, if it says anything.
func withPostgres(judge func(pgledger.Facts) Finding) func(context.Context, *Doctor) Finding {
	return func(ctx context.Context, d *Doctor) Finding {
		if err := askRemote(ctx, d); err != nil || d.server.postgres == nil {
			return noFinding // postgres reports it
		}
		return judge(*d.server.postgres)
	}
}

func checkPostgres(ctx context.Context, d *Doctor) Finding {
	err, name := askRemote(ctx, d), config.ServerName(d.Config.Ledger)
	f := d.server.postgres
	switch {
	case f == nil:
		return noFinding // the ledger is another, or config reports it
	case err != nil:
		return fail(Unavailable, name+": "+err.Error(), noPostgres)
	}
	text := fmt.Sprintf("%s: postgres %s, answers in %.1f ms", name, f.Name, float64(f.RoundTrip.Microseconds())/1000)
	if f.Pooled {
		text += ", behind a pooler"
	}
	_, err = ledgerReport(ctx, d)
	switch {
	case f.Version < oldestPostgres:
		return fail(Unavailable, text, "update it: version 15 or newer is needed")
	case f.Replica:
		return fail(Unavailable, text+": a replica takes no writes", "name the primary in --ledger, or all hosts with ?target_session_attrs=read-write")
	case errors.Is(err, quota.ErrUnavailable) && !errors.Is(err, sharedledger.ErrLost):
		return fail(Unavailable, name+": "+err.Error(), noPostgres)
	case errors.Is(err, quota.ErrCorrupt), errors.Is(err, quota.ErrNewer):
		return failWith(err, "the ledger in it cannot be used: see what else writes to its schema")
	}
	return okf("%s", text)
}

func judgeDurability(f pgledger.Facts) Finding {
	switch {
	case f.Fsync == "off":
		return warn("fsync is off: a power cut forgets what was spent, and may damage the database", "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf()")
	case f.SynchronousCommit == "off":
		return warn("synchronous_commit is off: a power cut forgets the last half second", "ALTER DATABASE NAME SET synchronous_commit = on")
	case f.Standbys == "":
		return okf("on disk before it is confirmed; a replica that is promoted may lack the newest")
	}
	return okf("on disk here and at %s before it is confirmed", f.Standbys)
}

func checkPostgresClock(ctx context.Context, d *Doctor) Finding {
	return withPostgres(func(f pgledger.Facts) Finding { return judgeClockGap(f.ClockAhead, d.clockGap(), "postgres") })(ctx, d)
}

func checkPostgresURL(_ context.Context, d *Doctor) Finding {
	parsed, err := pgledger.Parse(d.Config.Ledger)
	if err != nil || d.OpenRemote == nil {
		return noFinding
	}
	c := parsed.ConnConfig
	if c.Password == "" || wire.IsLoopback(c.Host) || strings.HasPrefix(c.Host, "/") {
		return noFinding
	}
	inClear := c.TLSConfig == nil
	for _, f := range c.Fallbacks {
		inClear = inClear || f.TLSConfig == nil
	}
	if inClear {
		return warn("the connection to "+c.Host+" may be made in clear", "add ?sslmode=verify-full, or use a tunnel to a loopback address")
	}
	return noFinding
}
