// Package pgledger keeps quota in PostgreSQL 15 or newer: one ledger for many hosts, in a schema of its own.
//
// A take is one call of the function in sql/take.sql: one round trip and one commit. It answers with facts (sums,
// times); quota.Ask.Decide repeats the decision here from them and checks that it is the same. A change of an account
// holds its lock until the commit: an advisory lock on the account's name rather than on its row, so that a refusal
// writes nothing and an account need not exist to be locked. Reads see one snapshot and do not wait. The server's
// clock counts, read once the lock is held.
//
// A server may lose its newest entries: with fsync or synchronous_commit off, by promoting a replica that lags, or by
// restoring a backup. sharedledger notices numbers that are behind the journal, and the generation is bound to the
// system identifier and timeline of the server that it began on. A clean switch of the primary loses nothing, but also
// begins a new generation, and every host syncs its journal again.
//
// pgxpool has the connections. No state is kept in a session, so that a pooler in transaction mode may be in between;
// without one, statements are prepared. The first process that finds no schema creates it, which requires the
// privilege CREATE on the database. An account without charges for its horizon and an hour is forgotten.
package pgledger

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/trendvidstream/ingest/quota"
)

// Options of a ledger. The zero value is ready to use.
type Options struct {
	Schema string // where the tables are; "" is "ingest_quota"
	// Timeout is for how long the server may be silent: in every round trip of connecting, and in an operation beyond
	// the measured round trip to the server. 0 is 1 s.
	Timeout time.Duration
}

// Ledger counts an account in PostgreSQL. It implements sharedledger.Remote: several hosts wrap it with
// sharedledger.Open, since a failover may lose charges. As a plain quota.Ledger it fits one process.
type Ledger struct {
	pool      *pgxpool.Pool
	pooled    atomic.Bool // a pooler is in between
	schema    string
	names     *strings.Replacer // replaces the placeholders in SQL texts
	timeout   time.Duration
	roundTrip atomic.Int64 // the last that was measured, a time.Duration
}

var _ quota.Ledger = (*Ledger)(nil)

// Open returns the ledger at a URL that Parse reads. It connects on first use, so that an outage is an error of the
// ledger's methods and not a failure to start.
func Open(ctx context.Context, url string, o Options) (*Ledger, error) {
	return open(ctx, url, o, serverClock)
}

const serverClock = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

// open opens a ledger whose clock is an SQL expression in microseconds.
func open(ctx context.Context, url string, o Options, clock string) (*Ledger, error) {
	config, err := Parse(url)
	if err != nil {
		return nil, err
	}
	l := &Ledger{schema: cmp.Or(o.Schema, "ingest_quota"), timeout: cmp.Or(o.Timeout, time.Second)}
	seed := fnv.New32a()
	_, _ = seed.Write([]byte(l.schema))
	l.names = strings.NewReplacer(
		"{schema}", pgx.Identifier{l.schema}.Sanitize(),
		"{version}", strconv.Itoa(version()),
		"{seed}", strconv.FormatUint(uint64(seed.Sum32()), 10), // for the hashes that name locks
		"{clock}", clock,
		"{timeline}", "left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)",
	)
	if err := l.connect(ctx, config); err != nil {
		return nil, fmt.Errorf("the ledger's URL has something %w: %w", quota.ErrUnknown, err)
	}
	return l, nil
}

// sql replaces the placeholders in an SQL text.
func (l *Ledger) sql(text string) string { return l.names.Replace(text) }
