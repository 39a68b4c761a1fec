package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"modernc.org/sqlite"
)

// ErrLeftover is returned for a database that cannot be read without finishing a write that a crash has interrupted.
var ErrLeftover = errors.New("a -wal file without its -shm is beside it, as after a crash or a copy")

// Peek calls read with a database file that others may be using, and leaves nothing beside it. SQLite makes a -wal
// and a -shm file when it reads a database in WAL mode that no process has open. Such a database is therefore read as
// a file that does not change, and read again if a process opened it meanwhile: read may be called several times, and
// only the last call counts.
func Peek(ctx context.Context, path string, read func(*sql.DB) error) error {
	if err := CheckPlace(path); err != nil {
		return err
	}
	for tries := 0; ; tries++ {
		before, err := os.Stat(path)
		if err != nil {
			return err
		}
		inUse := HasLog(path)
		params := "immutable=1"
		if inUse {
			if !Exists(path+"-shm") || before.Size() == 0 { // SQLite deletes the -wal of an empty file
				return fmt.Errorf("%s: %w", path, ErrLeftover)
			}
			params = "readonly_shm=1"
		}
		err = peekOnce(path, params, read)
		if unsettled(err) && ctx.Err() == nil {
			if tries < maxTries {
				time.Sleep(waitForOwner)
				continue
			}
			return fmt.Errorf("%s: %w", path, ErrLeftover)
		}
		after, statErr := os.Stat(path)
		if inUse || statErr != nil || ctx.Err() != nil ||
			!HasLog(path) && after.Size() == before.Size() && after.ModTime().Equal(before.ModTime()) {
			return err
		}
	}
}

// How long Peek waits for a process that is opening or closing the database: 20 ms, fifty times.
const (
	maxTries     = 50
	waitForOwner = 20 * time.Millisecond
)

// unsettled reports whether the log's index is being rebuilt, which a read-only connection cannot do: another process
// is just opening the database, or died doing so. https://www.sqlite.org/rescode.html#readonly_recovery
func unsettled(err error) bool {
	const readonlyRecovery, readonlyCantLock = 264, 520
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code() == readonlyRecovery || e.Code() == readonlyCantLock)
}

func peekOnce(path, params string, read func(*sql.DB) error) error {
	db, err := Open(path, 1, "mode=ro", "_busy_timeout=1000", params)
	if err != nil {
		return err
	}
	err = read(db)
	return errors.Join(err, db.Close())
}

// QuickCheck returns the first finding of SQLite's own check of the file; "" if there is none. It reads the whole file.
func QuickCheck(ctx context.Context, path string) (damage string, err error) {
	err = Peek(ctx, path, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&damage)
	})
	if damage == "ok" {
		damage = ""
	}
	return damage, err
}
