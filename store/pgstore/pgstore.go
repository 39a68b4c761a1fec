// Package pgstore opens a store in Postgres, which any number of machines may share.
//
// The rules of a store (states of slots, fences, retention, ranking) are in package store, as SQL that both databases
// read: a second package with SQL of its own would repeat three thousand lines of rules. schema.sql defines the few
// functions that only SQLite has, and translate.go replaces the rest: argument marks, hints, and FTS5's MATCH.
//
// Transactions that write run one at a time, as with SQLite, by an advisory lock that ends with them: every rule holds
// for many workers because it holds for one. A pass writes for milliseconds after each call of a hundred or more, so
// that the lock is no bottleneck. Readers never wait.
//
// A lock per region or slot would not be enough, because regions share some rows that a page writes. Two pages with
// the same new video or channel would both insert it; video_blocks and the queue of a piece are read, changed in Go
// and written back, so that one page would undo the other; counts in video_words are locked in the order of each
// page's words, which can deadlock. Each could have its own lock or order, but nothing would show that none was
// forgotten.
//
// The index is a tsvector with positions under GIN. array_to_tsvector has no positions, which phrases and the bigrams
// of Chinese, Japanese and Thai need. A lexeme says whether its token is in a name, because a common word is mostly
// only a tag: with weights of positions alone a search would read a million videos. Package store ranks and scores the
// matches, limited to the newest as in SQLite.
package pgstore

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/postgres"
	"github.com/trendvidstream/ingest/store"
)

const (
	// schemaName is the schema of the tables unless the URL names another as search_path.
	schemaName = "ingest"

	readers = 4 // connections for reading

	// lockFor bounds how long a transaction waits for other writers, and idleFor how long one may be idle: a machine
	// that freezes during a transaction must not stop all others.
	lockFor = 20 * time.Second
	idleFor = 2 * time.Second

	connectFor = 10 * time.Second // bounds connecting to an address
	endFor     = 4 * time.Second  // bounds COMMIT: a program ends within 5 s of a signal
	readFor    = 3 * time.Second  // bounds a reader's wait for a lock
	silentFor  = time.Minute      // a server silent for this long counts as not answering
)

//go:embed schema.sql
var schema string

// steps bring an older store up to date: steps[0] creates version 1, and so on.
var steps = []string{schema}

// SchemaVersion is the schema version that this program reads and writes.
func SchemaVersion() int { return len(steps) }

// Open opens the store at a URL, postgres://USER@HOST/DATABASE, whose database must exist. It creates missing tables
// and upgrades older ones; in a read-only store these are a store.ErrMissing and a store.VersionError. It refuses a
// store of a newer version or another upstream.
func Open(ctx context.Context, url string, o store.Options) (*store.Store, error) {
	parsed, err := postgres.Parse(url)
	if err != nil {
		return nil, fmt.Errorf("open the store: its URL: %w", err)
	}
	c := parsed.ConnConfig
	if c.ConnectTimeout > connectFor {
		c.ConnectTimeout = connectFor
	}
	c.DialFunc = postgres.Impatient(c.DialFunc, silentFor, false)
	c.RuntimeParams["application_name"] = "ingest"
	c.RuntimeParams["jit"] = "off" // compiling a search takes ten times as long as running it
	if c.RuntimeParams["search_path"] == "" {
		c.RuntimeParams["search_path"] = schemaName
	}
	name := c.RuntimeParams["search_path"]
	at := fmt.Sprintf("postgres://%s:%d/%s", c.Host, c.Port, c.Database)
	e := store.Engine{
		Name:    at,
		Write:   pool(c, 1, walked, begin(name)),
		Read:    pool(c, readers, planned, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
		Check:   func(ctx context.Context, tx *sql.Tx) error { return checkVersion(ctx, tx, at) },
		Explain: hint,
		Away:    away,

		LastBackfill:     lastBackfill,
		AdvanceSequences: advanceSequences,
	}
	e.Clock = func(ctx context.Context) (time.Time, error) { return serverClock(ctx, e.Read) }
	err = explain(at, checkSettings(ctx, e.Read, name))
	if err == nil {
		err = prepare(ctx, e, name, o)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the store: %w", err), e.Read.Close(), e.Write.Close())
	}
	if o.ReadOnly {
		if err := e.Write.Close(); err != nil {
			return nil, errors.Join(err, e.Read.Close())
		}
		e.Write = nil
	}
	return store.OpenOn(ctx, e, o)
}

// checkSettings returns errPooled if the connections lack their settings; without them tables are not found.
func checkSettings(ctx context.Context, db *sql.DB, path string) error {
	ctx, cancel := context.WithTimeout(ctx, connectFor) // else each address, with TLS and without, three times
	defer cancel()
	var set bool
	err := db.QueryRowContext(ctx, `SELECT current_setting('search_path') = ? AND current_setting('jit') = 'off'`,
		path).Scan(&set)
	if err == nil && !set {
		err = errPooled
	}
	return err
}

// planned are the settings of connections that read. Each search is planned for its own words: a generic plan reads
// all videos until enough match. Postgres's default cost of a random page, for spinning disks, would choose that even
// for rare words.
var planned = map[string]string{"plan_cache_mode": "force_custom_plan", "random_page_cost": "1.1",
	"lock_timeout": milliseconds(readFor)}

// walked are the settings of the connection that writes. It finds each row by an index, as SQLite does: a cached plan
// from when the tables were small would read them whole.
var walked = map[string]string{
	"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off",
	"lock_timeout": milliseconds(lockFor), "idle_in_transaction_session_timeout": milliseconds(idleFor),
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// begin returns the statements that begin a write transaction once no other runs.
func begin(schema string) string {
	return fmt.Sprintf("BEGIN; SELECT pg_advisory_xact_lock(%d, hashtext(%s))", lockSpace, quote(schema))
}

// lockSpace separates our advisory locks from other programs' locks: "ingt".
const lockSpace = 0x696E6774

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// prepare creates, upgrades or refuses the tables.
func prepare(ctx context.Context, e store.Engine, schema string, o store.Options) error {
	have, err := version(ctx, e.Read)
	switch {
	case err != nil:
		return explain(e.Name, err)
	case have > SchemaVersion() || o.ReadOnly && have > 0 && have < SchemaVersion():
		return &store.VersionError{Path: e.Name, Have: have, Know: SchemaVersion()}
	case (o.ReadOnly || o.Existing) && have == 0:
		return fmt.Errorf("%s: %w", e.Name, store.ErrMissing)
	case have == SchemaVersion():
		return nil
	}
	return explain(e.Name, migrate(ctx, e.Write, schema))
}

// migrate runs the missing steps in one transaction. If several programs try, one does it.
func migrate(ctx context.Context, db *sql.DB, schema string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	have, err := version(ctx, tx)
	if err != nil {
		return err
	}
	if have >= SchemaVersion() {
		return nil
	}
	if have == 0 {
		if _, err := tx.ExecContext(ctx, `CREATE SCHEMA IF NOT EXISTS `+pgx.Identifier{schema}.Sanitize()); err != nil {
			return err
		}
	}
	for i, step := range steps[have:] {
		if _, err := tx.ExecContext(ctx, asIs+step); err != nil {
			return fmt.Errorf("step to version %d: %w", have+i+1, err)
		}
	}
	if have > 0 { // runs of older programs cannot save any more
		if _, err := tx.ExecContext(ctx, `UPDATE slots SET lease = 0 WHERE state = 'claimed'`); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, `
		INSERT INTO meta (name, value) VALUES ('version', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
		strconv.Itoa(SchemaVersion())); err != nil {
		return err
	}
	return tx.Commit()
}

// newest reads the version of existing tables.
const newest = `SELECT coalesce(max(value), '0') FROM meta WHERE name = 'version'`

// version returns the version of the tables, 0 if there are none.
func version(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (int, error) {
	var there bool
	var closed string // the schema, if this user has no right to use it
	err := q.QueryRowContext(ctx, `SELECT to_regclass('meta') IS NOT NULL,
		coalesce((SELECT nspname FROM pg_namespace WHERE nspname = current_setting('search_path')
			AND NOT has_schema_privilege(oid, 'USAGE')), '')`).
		Scan(&there, &closed)
	if closed != "" {
		return 0, fmt.Errorf("permission denied for schema %[1]s: "+
			"its owner can allow it with GRANT USAGE ON SCHEMA %[1]s and GRANT SELECT ON ALL TABLES IN SCHEMA %[1]s",
			pgx.Identifier{closed}.Sanitize())
	}
	if err != nil || !there {
		return 0, err
	}
	var have int
	err = q.QueryRowContext(ctx, newest).Scan(&have)
	return have, err
}

// checkVersion fails a transaction if a newer program has upgraded the tables while this one ran.
func checkVersion(ctx context.Context, tx *sql.Tx, path string) error {
	var have int
	err := tx.QueryRowContext(ctx, newest).Scan(&have)
	if err == nil && have > SchemaVersion() {
		err = &store.VersionError{Path: path, Have: have, Know: SchemaVersion()}
	}
	return err
}

// serverClock returns the server's clock, and ingest.ErrNoWrites if it takes no writes.
func serverClock(ctx context.Context, db *sql.DB) (time.Time, error) {
	var micros int64
	var standby bool
	err := db.QueryRowContext(ctx, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, "+
		"pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on'").
		Scan(&micros, &standby)
	if err == nil && standby {
		err = ingest.ErrNoWrites
	}
	return time.UnixMicro(micros), err
}
