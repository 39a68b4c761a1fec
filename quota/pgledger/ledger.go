// Package pgledger keeps quota in PostgreSQL 15 or newer: one ledger for many hosts, in a schema of its own.
//
// A take is one call of one function in the database, sql/take.sql, and so one round trip and one commit. It answers
// with facts (sums, times), from which quota.Decide makes the decision here, as for every ledger, and finds that it is
// the same. What changes an account holds its lock until it is committed: an advisory lock of the transaction on the
// account's name rather than on its row, so that a refusal writes nothing, and an account need not exist to be locked.
// What only looks sees one snapshot and waits for nobody. The clock is the server's, read once the lock is held.
//
// A server that confirms what is not on disk (fsync or synchronous_commit off), or whose replica was promoted before it
// had everything, may have lost its newest entries, and so has one that was restored from a backup. It is recognized as
// sharedledger says: by numbers that are behind the journal, and by the generation being bound to the system identifier
// and the timeline of the server that it began on. A clean change of the master also begins a new generation: nothing
// is lost then, and every host syncs its journal again.
//
// Connections are pgxpool's: a take measured no slower than over a pool of our own. Nothing is kept in a session, so that
// a pooler in transaction mode may stand between; if there is none, statements are prepared. The schema is made by whoever first finds that it is missing, which takes the right to CREATE in the
// database. An account without charges for its horizon and an hour is forgotten.
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
	Schema  string        // where the tables are; "" is "ingest_quota"
	Timeout time.Duration // of every operation, connecting included; 0 is 1 s
}

// Ledger implements sharedledger.Remote, and so quota.Ledger.
type Ledger struct {
	pool    *pgxpool.Pool
	pooled  atomic.Bool // a pooler stands between
	schema  string
	names   *strings.Replacer // of the placeholders in package sql
	timeout time.Duration
}

var _ quota.Ledger = (*Ledger)(nil)

// Open returns the ledger at a URL that Parse reads. It connects when it is first asked, so that an outage is one of
// the ledger's answers and not a failure to start.
func Open(ctx context.Context, url string, o Options) (*Ledger, error) {
	return open(ctx, url, o, serverClock)
}

const serverClock = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

// open opens a ledger whose clock is what that SQL reads, in microseconds.
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
		"{seed}", strconv.FormatUint(uint64(seed.Sum32()), 10), // of the hashes that name locks
		"{clock}", clock,
		"{timeline}", "left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)",
	)
	if err := l.connect(ctx, config); err != nil {
		return nil, fmt.Errorf("%w: the ledger's URL: %w", quota.ErrUnknown, err)
	}
	return l, nil
}

// sql puts the names of this ledger into a text of package sql.
func (l *Ledger) sql(text string) string { return l.names.Replace(text) }
