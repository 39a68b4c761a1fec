package sqlitefile

import (
	"context"
	"database/sql"
	"fmt"
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

// BackupPath returns a free name for the backup of a file of version have, made before its first step.
func BackupPath(path string, have int, now time.Time) string {
	first := fmt.Sprintf("%s.v%d-backup-%s", path, have, now.UTC().Format("20060102T150405.000Z"))
	name := first
	for n := 2; Exists(name); n++ { // a process was killed after its backup, and the clock has not moved
		name = fmt.Sprintf("%s-%d", first, n)
	}
	return name
}
