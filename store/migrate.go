package store

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"os"
	"time"
)

//go:embed migrations/2.sql
var toVersion2 string

//go:embed migrations/3.sql
var toVersion3 string

// steps bring an older store up to date: steps[0] makes version 2 of version 1, and so on. A new
// store is made by ingest.Schema alone, which is always the newest version. Foreign keys are enforced
// while a step runs.
var steps = []string{toVersion2, toVersion3}

// normalized is the version since which the index holds what Normalize makes of a text today.
const normalized = 2

// version is the version of ingest.Schema.
var version = 1 + len(steps)

// Version is the version of the tables that this program reads and writes.
func Version() int { return version }

// upgradeFor is how long a process waits for another one that migrates: a backup is as slow as the disk.
const upgradeFor = 10 * time.Minute

// migrationPart begins, behind the store's name, that of a backup which is not whole yet.
const migrationPart = ".migration-part-"

// migrate brings an older store up to date in one transaction, and keeps a backup of it as it was. Nobody
// else writes from before the backup until the end, so that the backup lacks nothing. Of several
// processes one migrates, and the others wait for it.
func (s *Store) migrate(ctx context.Context, upgraded func(from, to int, backup string)) error {
	doing := fmt.Sprintf("bring the store to version %d", version)
	tx, err := s.beginWithin(ctx, upgradeFor)
	if err != nil {
		return s.explain(ctx, doing, err)
	}
	defer func() { _ = tx.Rollback() }()
	var have int
	if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&have); err != nil {
		return s.explain(ctx, doing, err)
	}
	if have == version {
		return nil // another process has done it since
	}
	if have < 1 || have > version {
		return &VersionError{Path: s.path, Have: have, Know: version}
	}
	backup, err := s.setAside(ctx, have)
	if err != nil {
		return err
	}
	if err := s.step(ctx, tx, have); err != nil {
		return fmt.Errorf("%w; it is as it was, and so is its backup %s", s.explain(ctx, doing, err), backup)
	}
	if upgraded != nil {
		upgraded(have, version, backup)
	}
	return nil
}

// step runs the steps from a version on, and commits.
func (s *Store) step(ctx context.Context, tx *txn, from int) error {
	for i, step := range steps[from-1:] {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return fmt.Errorf("step to version %d: %w", from+i+1, err)
		}
	}
	if from < normalized {
		if err := reindexAll(ctx, tx); err != nil {
			return fmt.Errorf("index the videos anew: %w", err)
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, version)); err != nil {
		return err
	}
	return tx.Commit()
}

// reindexAll writes the index row of every video.
func reindexAll(ctx context.Context, tx *txn) error {
	for last, more := int64(0), true; more; {
		var ids []int64
		err := each(ctx, tx, func(rows *sql.Rows) error {
			err := rows.Scan(&last)
			ids = append(ids, last)
			return err
		}, `SELECT id FROM videos WHERE id > ? ORDER BY id LIMIT ?`, last, repairStep)
		if err != nil {
			return err
		}
		if err := rewriteIndex(ctx, tx, ids); err != nil {
			return err
		}
		more = len(ids) == repairStep
	}
	return nil
}

// setAside copies the store beside itself, as ingest.db.v1-backup-20260214T120000Z. The caller holds the
// lock to write: nobody else makes such a copy meanwhile, and what a process that died has left of one goes.
func (s *Store) setAside(ctx context.Context, have int) (string, error) {
	path := fmt.Sprintf("%s.v%d-backup-%s", s.path, have, s.now().UTC().Format("20060102T150405.000Z"))
	for first, n := path, 2; exists(path); n++ { // of one that was killed behind its backup, on a clock that stands
		path = fmt.Sprintf("%s-%d", first, n)
	}
	c := copying{from: s, to: path, part: FileName + migrationPart}
	if _, err := c.run(ctx); err != nil {
		var size string
		if info, statErr := os.Stat(s.path); statErr == nil {
			size = fmt.Sprintf(", which takes about %d KiB", info.Size()>>10)
		}
		return "", fmt.Errorf("the store has version %d and was left so: back it up before it is brought to version %d%s: %w",
			have, version, size, err)
	}
	return path, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
