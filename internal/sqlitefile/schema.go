package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Schema is the tables of one of our databases, and how an older file gets them. A file carries its version as SQLite's
// user_version.
type Schema struct {
	Application int    // SQLite's application_id: which program's file it is
	Tables      string // makes the newest version in an empty file
	// Steps bring a file to the next version, one each: Steps[0] makes version 2 of version 1. A change of Tables needs
	// a step that makes the same change.
	Steps []string
}

// Executer is a connection or a transaction.
type Executer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Version returns the version that Tables makes.
func (s Schema) Version() int { return 1 + len(s.Steps) }

// Create makes the tables in an empty file.
func (s Schema) Create(ctx context.Context, tx Executer) error {
	head := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", s.Application, s.Version())
	_, err := tx.ExecContext(ctx, head+s.Tables)
	return err
}

// Upgrade brings a file of version have, at least 1, to the newest. The caller has a backup, and commits.
func (s Schema) Upgrade(ctx context.Context, tx Executer, have int) error {
	for i, step := range s.Steps[have-1:] {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return fmt.Errorf("step to version %d: %w", have+i+1, err)
		}
	}
	_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", s.Version()))
	return err
}

// Foreign returns the first object of a database of version have that Tables did not make, such as a trigger that was
// added to a file before it was restored; "" if there is none. Statistics of SQLite's ANALYZE may be there. In a
// version before the newest only triggers are known to be foreign: none has any.
func (s Schema) Foreign(ctx context.Context, q Querier, have int) (object string, err error) {
	if have < s.Version() {
		err = q.QueryRowContext(ctx,
			`SELECT coalesce(min('trigger ' || name), '') FROM sqlite_schema WHERE type = 'trigger'`).Scan(&object)
		return object, err
	}
	known, err := s.objects(ctx)
	if err != nil {
		return "", err
	}
	err = Each(ctx, q, func(rows *sql.Rows) error {
		var name, text string
		err := rows.Scan(&name, &text)
		if want, ok := known[name]; object == "" && (!ok || want != text && !s.altered(text)) {
			object = name
		}
		return err
	}, selectObjects)
	return object, err
}

// altered reports whether a table's text may differ because steps have changed it: SQLite edits the text in its own
// way.
func (s Schema) altered(text string) bool {
	return len(s.Steps) > 0 && strings.HasPrefix(text, "CREATE TABLE ")
}

const selectObjects = `SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema
	WHERE name NOT LIKE 'sqlite\_stat%' ESCAPE '\'`

// objects returns the texts of everything that Tables makes, by its type and name.
func (s Schema) objects(ctx context.Context) (known map[string]string, err error) {
	knownLock.Lock()
	defer knownLock.Unlock()
	if known := knownObjects[s.Tables]; known != nil {
		return known, nil
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1) // each has a database of its own
	if err := s.Create(ctx, db); err != nil {
		return nil, err
	}
	known = map[string]string{}
	err = Each(ctx, db, func(rows *sql.Rows) error {
		var name, text string
		err := rows.Scan(&name, &text)
		known[name] = text
		return err
	}, selectObjects)
	knownObjects[s.Tables] = known
	return known, err
}

var (
	knownLock    sync.Mutex
	knownObjects = map[string]map[string]string{} // by Tables
)

// BackupPath returns a free name for the backup of a file of version have, made before its first step.
func BackupPath(path string, have int, now time.Time) string {
	first := fmt.Sprintf("%s.v%d-backup-%s", path, have, now.UTC().Format("20060102T150405.000Z"))
	name := first
	for n := 2; Exists(name); n++ { // a process was killed after its backup, and the clock has not moved
		name = fmt.Sprintf("%s-%d", first, n)
	}
	return name
}
