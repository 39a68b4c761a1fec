// Package pgstore opens a store that lies in Postgres, which any number of machines share.
//
// What a store does is written once, in package store: the states of a slot, fences, what is stale, what is kept for
// how long, how a result is ranked. There are two ways to have it on another database: a second package with SQL of
// its own, or the same statements there. This is the second: three thousand lines of rules exist once, and a rule that
// changes changes for both. Package store writes SQL that both databases read. The few functions that only SQLite has
// are defined in schema.sql, and translate.go replaces the rest: the marks of arguments, hints, and FTS5's MATCH.
//
// Transactions that write run one at a time, as with SQLite, by an advisory lock that ends with them: every rule
// holds for many workers because it holds for one. A pass writes for milliseconds after each call, which takes a
// hundred or more: the lock is far from what bounds them. Readers never wait.
//
// A lock for each region or slot would not do: what a page writes is shared by all regions. Two pages with the same
// new video or channel would both insert it; video_blocks and the queue of a piece are read, changed in Go and
// written back, so that one page would undo the other; the counts in video_words are locked in the order of the words
// of each page, which is a deadlock. Each could be given a lock or an order of its own, but nothing would show that
// none was forgotten.
//
// The index is a tsvector with positions under GIN, not array_to_tsvector, which has none: phrases, and Chinese,
// Japanese and Thai, which are bigrams, need them. A lexeme says whether its token is in a name, because a common word
// is mostly only a tag: by the weights of positions alone a million videos would have to be read. The matches, limited
// to the newest, as in SQLite, are ranked and scored by package store.
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

	"github.com/trendvidstream/ingest/store"
)

const (
	// schemaName is the schema that the tables lie in, unless the URL names another as search_path.
	schemaName = "ingest"

	readers = 4 // connections that read, at most

	// lockFor bounds how long a transaction waits for those that write before it, and idleFor how long one may hold
	// up others without doing anything: a machine that is frozen in the middle must not stop all others.
	lockFor = 20 * time.Second
	idleFor = 2 * time.Second

	connectFor = 10 * time.Second // connecting to an address takes, at most
	endFor     = 4 * time.Second  // so does COMMIT: a program that is told to stop ends within 5 s
	readFor    = 3 * time.Second  // waiting to read what another program has locked takes, at most
	silentFor  = time.Minute      // a server that sends nothing for so long, although it was asked, does not answer
)

//go:embed schema.sql
var schema string

// steps bring an older store up to date: steps[0] makes version 1 of nothing, and so on.
var steps = []string{schema}

// SchemaVersion is the version of the tables that this program reads and writes.
func SchemaVersion() int { return len(steps) }

// Open opens the store at a URL, postgres://USER@HOST/DATABASE, whose database must exist. It makes the tables if they
// are missing and upgrades them if they are older, unless the store is to be read only: then older tables are a
// store.VersionError, and missing ones a store.ErrMissing. A store of a newer version, or of another upstream, is
// refused.
func Open(ctx context.Context, url string, o store.Options) (*store.Store, error) {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err) // pgx leaves the password out
	}
	if c.ConnectTimeout > connectFor {
		c.ConnectTimeout = connectFor
	}
	c.DialFunc = impatient(c.DialFunc)
	c.RuntimeParams["application_name"] = "ingest"
	c.RuntimeParams["jit"] = "off" // a search that takes ten milliseconds would be compiled for a hundred
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

// checkSettings returns errPooled if the connections lack their settings, so that the tables would not be found.
func checkSettings(ctx context.Context, db *sql.DB, path string) error {
	var set bool
	err := db.QueryRowContext(ctx, `SELECT current_setting('search_path') = ? AND current_setting('jit') = 'off'`, path).Scan(&set)
	if err == nil && !set {
		err = errPooled
	}
	return err
}

// planned are the settings of connections that read. Each search is planned for its own words: a plan made for any
// words reads all videos until enough have them. Even for rare words that seems cheap if a random page costs as much as
// four in order, as on a spinning disk; here it costs about as much as one.
var planned = map[string]string{"plan_cache_mode": "force_custom_plan", "random_page_cost": "1.1", "lock_timeout": milliseconds(readFor)}

// walked are the settings of the connection that writes. Each row that a page needs is found by an index, as in SQLite:
// a plan that was made while the tables were small, and kept, would read them whole.
var walked = map[string]string{
	"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off",
	"lock_timeout": milliseconds(lockFor), "idle_in_transaction_session_timeout": milliseconds(idleFor),
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// begin returns the statements that begin a transaction that writes, once no other does.
func begin(schema string) string {
	return fmt.Sprintf("BEGIN; SELECT pg_advisory_xact_lock(%d, hashtext(%s))", lockSpace, quote(schema))
}

// lockSpace keeps our advisory locks apart from those of other programs: "ingt".
const lockSpace = 0x696E6774

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// prepare makes the tables, or upgrades them, or refuses them.
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

// migrate runs the steps that the tables lack, in one transaction: if several programs try, one does it, and the others
// find it done.
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
	if have > 0 { // who has claimed these could not save another page
		if _, err := tx.ExecContext(ctx, `UPDATE slots SET lease = 0 WHERE state = 'claimed'`); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, `
		INSERT INTO meta (name, value) VALUES ('version', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, strconv.Itoa(SchemaVersion())); err != nil {
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
	var closed string // the schema, if this user may not look into it
	err := q.QueryRowContext(ctx, `SELECT to_regclass('meta') IS NOT NULL,
		coalesce((SELECT nspname FROM pg_namespace WHERE nspname = current_setting('search_path') AND NOT has_schema_privilege(oid, 'USAGE')), '')`).
		Scan(&there, &closed)
	if closed != "" {
		return 0, fmt.Errorf("permission denied for schema %[1]s: its owner lets this user in with GRANT USAGE ON SCHEMA %[1]s and GRANT SELECT ON ALL TABLES IN SCHEMA %[1]s",
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
