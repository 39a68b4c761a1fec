package pgledger

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/trendvidstream/ingest/quota"
)

var (
	//go:embed sql/schema.sql
	schemaSQL string
	//go:embed sql/take.sql
	takeSQL string
)

// steps bring an older schema up to date: steps[0] makes version 2 of version 1, and so on. A step that changes
// take.sql drops the previous version's functions. All steps run in one transaction, so that a failure leaves the old
// schema.
var steps = []string{}

// version is the schema version that this program reads and writes.
func version() int { return 1 + len(steps) }

// findVersion returns an error unless the schema has this program's version, errAbsent if there is none. A schema that
// looked incomplete may have been completed a moment ago.
func (l *Ledger) findVersion(ctx context.Context, c *pgxpool.Conn) error {
	found, err := l.schemaVersion(ctx, c)
	if err == nil && found < version() {
		return saying(quota.ErrUnavailable, "schema %s is of version %d: the next take or post brings it to version %d",
			l.schema, found, version())
	}
	return err
}

// schemaVersion returns the version of the schema, with an error if this program can neither use nor upgrade it.
func (l *Ledger) schemaVersion(ctx context.Context, c *pgxpool.Conn) (found int, err error) {
	err = c.QueryRow(ctx, l.sql("SELECT version FROM {schema}.ledger"), pgx.QueryExecModeExec).Scan(&found)
	switch {
	case is(err, noSchema, noTable):
		return 0, errAbsent
	case err == nil && found > version():
		return 0, saying(quota.ErrNewer, "schema %s is of version %d, this program knows version %d: update this program",
			l.schema, found, version())
	case errors.Is(err, pgx.ErrNoRows) || err == nil && found < 1:
		return 0, saying(quota.ErrCorrupt, "schema %s is of version %d, which no program wrote: "+
			"ALTER SCHEMA %s RENAME TO damaged, then ingest quota rebuild", l.schema, found, l.sql("{schema}"))
	}
	return found, err
}

// install creates or upgrades the schema, unless another process has just done so.
func (l *Ledger) install(ctx context.Context, c *pgxpool.Conn) error {
	found, err := l.schemaVersion(ctx, c)
	if found == version() || err != nil && !errors.Is(err, errAbsent) {
		return err
	}
	err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		run := func(sql string) (int64, error) {
			tag, err := tx.Exec(ctx, l.sql(sql), pgx.QueryExecModeSimpleProtocol)
			return tag.RowsAffected(), err
		}
		if _, err := run("SELECT pg_advisory_xact_lock({seed})"); err != nil {
			return err
		}
		script := schemaSQL
		if found > 0 {
			changed, err := run(fmt.Sprintf("UPDATE {schema}.ledger SET version = {version} WHERE version = %d", found))
			if err != nil || changed == 0 { // another process was faster
				return err
			}
			script = strings.Join(steps[found-1:], ";")
		}
		_, err := run(script + ";" + functions())
		return err
	})
	if is(err, duplicateTable, uniqueViolation) { // another process was faster
		return nil
	}
	return err
}

// functions returns the two forms of take.sql.
func functions() string {
	take := strings.NewReplacer("{function}", "take_{version}", "{volatility}", "VOLATILE", "{writes}", "true",
		"{lock}", `PERFORM pg_advisory_xact_lock(hashtextextended(_account, {seed}));
    IF pg_is_in_recovery() THEN -- the rows that it reads change under it here, lock or not
        RAISE read_only_sql_transaction USING MESSAGE = 'cannot take during recovery';
    END IF;`)
	peek := strings.NewReplacer("{function}", "peek_{version}", "{volatility}", "STABLE",
		"{writes}", "false", "{lock}", "")
	return take.Replace(takeSQL) + peek.Replace(takeSQL)
}
