package store

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// upgradeFor is how long a process waits for another to migrate the store, since the backup may be slow.
const upgradeFor = 10 * time.Minute

// migrationPart follows the store's name in the name of an unfinished backup.
const migrationPart = ".migration-part-"

// migrate upgrades an older store in one transaction, after a backup. It holds the write lock from before the backup
// to the end, so that the backup is complete. If several processes open an old store, one migrates and the others
// wait.
func migrate(ctx context.Context, d *database, upgraded func(from, to int, backup string)) error {
	doing := fmt.Sprintf("bring the store to version %d", tables.Version())
	tx, err := d.begin(ctx, upgradeFor)
	if err != nil {
		return d.explain(ctx, doing, err)
	}
	defer func() { _ = tx.Rollback() }()
	var have int
	if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&have); err != nil {
		return d.explain(ctx, doing, err)
	}
	if have == tables.Version() {
		return nil // another process has migrated it meanwhile
	}
	if have < 1 || have > tables.Version() {
		return &VersionError{Path: d.path, Have: have, Know: tables.Version()}
	}
	backup, err := backUpBefore(ctx, d, have)
	if err != nil {
		return err
	}
	if err = tables.Upgrade(ctx, tx, have); err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return fmt.Errorf("%w; the store is unchanged, its backup is %s", d.explain(ctx, doing, err), backup)
	}
	if upgraded != nil {
		upgraded(have, tables.Version(), backup)
	}
	return nil
}

// backUpBefore copies the store beside itself, as ingest.db.v1-backup-20260214T120000.000Z, under the caller's write
// lock. It removes unfinished copies of processes that died.
func backUpBefore(ctx context.Context, d *database, have int) (string, error) {
	path := sqlitefile.BackupPath(d.path, have, d.now())
	if _, err := d.copyTo(ctx, path, FileName+migrationPart); err != nil {
		var size string
		if info, statErr := os.Stat(d.path); statErr == nil {
			size = fmt.Sprintf(", which takes about %d KiB", info.Size()>>10)
		}
		return "", fmt.Errorf("the store stays at version %d: back it up before the upgrade to version %d%s: %w",
			have, tables.Version(), size, err)
	}
	return path, nil
}
