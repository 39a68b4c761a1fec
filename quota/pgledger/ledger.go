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
// Nothing is kept in a session, so that a pooler in transaction mode may stand between; if there is none, statements
// are prepared. The schema is made by whoever first finds that it is missing, which takes the right to CREATE in the
// database. An account without charges for its horizon and an hour is forgotten.
package pgledger

import (
	"cmp"
	"context"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/trendvidstream/ingest/quota"
)

// Options of a ledger. The zero value is ready to use.
type Options struct {
	Schema  string        // where the tables are; "" is "ingest_quota"
	Timeout time.Duration // of every operation, connecting included; 0 is 1 s
}

// Ledger implements sharedledger.Remote, and so quota.Ledger.
type Ledger struct {
	conns   conns
	schema  string
	names   *strings.Replacer // of the placeholders in package sql
	timeout time.Duration
}

var _ quota.Ledger = (*Ledger)(nil)

// Open returns the ledger at a URL that Parse reads. It connects when it is first asked, so that an outage is one of
// the ledger's answers and not a failure to start.
func Open(_ context.Context, url string, o Options) (*Ledger, error) {
	config, err := Parse(url)
	if err != nil {
		return nil, err
	}
	return open(config, o, serverClock), nil
}

const serverClock = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

// open makes a ledger whose clock is what that SQL reads, in microseconds.
func open(config *pgconn.Config, o Options, clock string) *Ledger {
	l := &Ledger{schema: cmp.Or(o.Schema, "ingest_quota"), timeout: cmp.Or(o.Timeout, time.Second)}
	seed := fnv.New32a()
	_, _ = seed.Write([]byte(l.schema))
	l.names = strings.NewReplacer(
		"{schema}", `"`+strings.ReplaceAll(l.schema, `"`, `""`)+`"`,
		"{seed}", strconv.FormatUint(uint64(seed.Sum32()), 10), // of the hashes that name locks
		"{clock}", clock,
		"{timeline}", "left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)",
	)
	l.conns = conns{config: config, slots: make(chan struct{}, maxConns)}
	return l
}

// maxConns is how many connections one process keeps at most: an operation takes about a millisecond.
const maxConns = 8

// Close implements quota.Ledger.
func (l *Ledger) Close() error {
	l.conns.close(l.timeout)
	return nil
}

// sql puts the names of this ledger into a text of package sql.
func (l *Ledger) sql(text string) string { return l.names.Replace(text) }
