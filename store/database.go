package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

const (
	// readers bounds this process's concurrent reads, and readCache is the KiB of pages that each caches: a filtered
	// search reads thousands of pages, and SQLite's default of 2,000 KiB would keep none of them for the next search.
	readers   = 4
	readCache = 16_000

	// logPages is how many pages (16 MB) the log may have before they are written to the file. Schedules rewrite the
	// same pages often: SQLite's default of 1,000 would write each four times as often.
	logPages = 4000

	// busyWait is how long SQLite itself waits for another writer, without noticing a cancelled context. busyFor is
	// how long a transaction waits in total.
	busyWait = 2 * time.Second
	busyFor  = 20 * time.Second
)

// database holds the connections to a store's file and runs transactions on them.
type database struct {
	path  string
	write *sql.DB // nil when read-only; one connection
	read  *sql.DB
	now   func() time.Time

	engine *Engine // nil: SQLite

	frozen bool // a read-only disk without writers: the file is opened as immutable
	// the files as they must stay: the first as it was opened, the others as a write transaction first saw them
	seen files
}

// newDatabase returns a database in dir, without any connection yet.
func newDatabase(dir string, now func() time.Time) *database {
	if now == nil {
		now = time.Now
	}
	return &database{path: filepath.Join(dir, FileName), now: now}
}

// connect makes a pool of at most n connections to the file. It opens none before the first query.
func connect(path string, n int, params ...string) (*sql.DB, error) {
	params = append(params, fmt.Sprintf("_busy_timeout=%d", busyWait.Milliseconds()), "_dqs=0", "_error_rc=1")
	c, err := sqlite.NewConnector(sqlitefile.DSN(path, params...))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db := sql.OpenDB(preparing{c})
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

func (d *database) connectToWrite(params ...string) (err error) {
	// secure_delete overwrites data that must not be kept any longer.
	params = append(params, "mode=rw", "_txlock=immediate", "_journal_mode=WAL", "_synchronous=FULL",
		"_pragma=secure_delete(1)")
	d.write, err = connect(d.path, 1, params...)
	return err
}

// connectToRead opens the connections for reading, after closing earlier ones.
func (d *database) connectToRead() (err error) {
	if d.read != nil {
		_ = d.read.Close()
	}
	d.read, err = connect(d.path, readers,
		d.reading("_query_only=1", fmt.Sprintf("_pragma=cache_size(-%d)", readCache))...)
	return err
}

// reading returns the parameters of a connection for reading.
func (d *database) reading(more ...string) []string {
	params := append([]string{"mode=ro"}, more...)
	if d.frozen {
		params = append(params, "immutable=1")
	}
	return params
}

// Close closes the store. The last writer to close folds the write-ahead log into the file.
func (d *database) Close() error {
	var err error
	for _, db := range []*sql.DB{d.read, d.write} {
		if db != nil {
			if e := db.Close(); e != nil {
				err = d.explain(context.Background(), "close the store", e)
			}
		}
	}
	return err
}

func (d *database) explain(ctx context.Context, doing string, err error) error {
	if errors.Is(err, ErrNoChart) || errors.Is(err, ErrNoVideo) { // an answer, not a failure of doing
		return err
	}
	if err != nil && d.engine != nil {
		return d.engine.explain(ctx, doing, err)
	}
	return explain(ctx, d.path, doing, err)
}

// tx runs f in one immediate transaction; doing describes it in errors. It waits for other writers first, so that f
// never runs twice.
func (d *database) tx(ctx context.Context, doing string, f func(*txn) error) error {
	if d.write == nil {
		return fmt.Errorf("%s: %s: %w", doing, d.path, ErrReadOnly)
	}
	tx, err := d.begin(ctx, busyFor)
	if err != nil {
		return d.explain(ctx, doing, err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := f(tx); err != nil {
		return d.explain(ctx, doing, err)
	}
	return d.explain(ctx, doing, tx.Commit())
}

// begin starts a write transaction, waiting at most atMost for other writers.
func (d *database) begin(ctx context.Context, atMost time.Duration) (*txn, error) {
	var tx *sql.Tx
	err := untilFree(ctx, atMost, func() (err error) {
		tx, err = d.write.BeginTx(ctx, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	check := d.watch
	if d.engine != nil {
		check = d.checkVersion
	}
	if err := check(ctx, tx); err != nil {
		_ = tx.Rollback()
		return nil, err
	}
	return tx, nil
}

// untilFree retries f for at most atMost while another process holds the lock it needs.
func untilFree(ctx context.Context, atMost time.Duration, f func() error) error {
	for began := time.Now(); ; {
		err := f()
		if !isBusy(err) || ctx.Err() != nil || time.Since(began) > atMost {
			return err
		}
	}
}

// view runs f on one snapshot of the store.
func (d *database) view(ctx context.Context, doing string, f func(*txn) error) error {
	tx, err := d.read.BeginTx(ctx, nil)
	if err != nil {
		return d.explain(ctx, doing, err)
	}
	defer func() { _ = tx.Rollback() }()
	return d.explain(ctx, doing, f(tx))
}

// exec runs one statement in a transaction and returns how many rows it changed.
func (d *database) exec(ctx context.Context, doing, query string, args ...any) (n int, err error) {
	err = d.tx(ctx, doing, func(tx *txn) error {
		n, err = affected(tx.ExecContext(ctx, query, args...))
		return err
	})
	return n, err
}

// viewed returns the result of f on one snapshot of the store.
func viewed[T any](ctx context.Context, d *database, doing string, f func(*txn) (T, error)) (found T, err error) {
	err = d.view(ctx, doing, func(tx *txn) error {
		found, err = f(tx)
		return err
	})
	return found, err
}

// collectView is collect on one snapshot of the store.
func collectView[T any](ctx context.Context, d *database, doing string, scan func(scanner) (T, error),
	query string, args ...any) ([]T, error) {
	return viewed(ctx, d, doing, func(tx *txn) ([]T, error) { return collect(ctx, tx, scan, query, args...) })
}

// runSteps spreads work over many short transactions, so that other writers need not wait. It calls step until that
// reports that there is no more. After each transaction it pauses for as long as it held the lock, since other
// processes poll for the lock only every few milliseconds.
func (d *database) runSteps(ctx context.Context, doing string, step func(*txn) (more bool, err error)) error {
	for {
		var began time.Time
		more := false
		err := d.tx(ctx, doing, func(tx *txn) (err error) {
			began = time.Now()
			more, err = step(tx)
			return err
		})
		if err != nil || !more {
			return err
		}
		select {
		case <-ctx.Done(): // the next transaction returns the error
		case <-time.After(time.Since(began)):
		}
	}
}

// errReplaced means that a file of the store was deleted or replaced while in use.
var errReplaced = errors.New("was deleted or replaced while it was in use")

// reopenFor bounds how long reopen waits for readers to finish.
const reopenFor = 5 * time.Second

// files identifies the files of a store in use.
type files [3]os.FileInfo

var fileSuffixes = [len(files{})]string{"", "-wal", "-shm"}

// watch begins every write transaction. It makes sure that this process writes the files that others see: SQLite keeps
// deleted files open and would write to them, where everything would be lost. If only the log is gone, this process's
// part of it is saved into ingest.db, this transaction fails, and the next succeeds. VersionError: a newer program has
// upgraded the store.
func (d *database) watch(ctx context.Context, tx *sql.Tx) error {
	if err := d.checkVersion(ctx, tx); err != nil {
		return err
	}
	if err := d.checkPlace(); err != nil {
		return err
	}
	taken := -1
	for i, suffix := range fileSuffixes {
		info, err := os.Stat(d.path + suffix)
		switch {
		case d.seen[i] == nil && err == nil:
			d.seen[i] = info // from now on it must stay
		case d.seen[i] != nil && (err != nil || !os.SameFile(info, d.seen[i])) && taken < 0:
			taken = i
		}
	}
	if taken < 0 {
		return nil
	}
	path := d.path + fileSuffixes[taken]
	d.seen[1], d.seen[2] = nil, nil
	_ = tx.Rollback() // a log cannot be moved within a transaction
	saved := "the content of the log has been saved"
	var busy, frames, moved int
	if err := d.write.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &frames, &moved); err != nil ||
		busy != 0 {
		saved = "the content of the log may be lost, and the next runs fetch it again"
	}
	d.reopen()
	return fmt.Errorf("%s %w: %s; leave the files beside ingest.db alone while ingest runs", path, errReplaced, saved)
}

// checkPlace returns an error if the file that is open is no longer the one that others find.
func (d *database) checkPlace() error {
	if d.seen[0] == nil {
		return nil
	}
	if info, err := os.Stat(d.path); err != nil || !os.SameFile(info, d.seen[0]) {
		return fmt.Errorf("%s %w: stop ingest serve, and start it again", d.path, errReplaced)
	}
	return nil
}

// checkVersion returns a VersionError if a newer program has upgraded the store.
func (d *database) checkVersion(ctx context.Context, tx *sql.Tx) error {
	if d.engine != nil {
		return d.engine.Check(ctx, tx)
	}
	var have int
	err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&have)
	if err == nil && have > tables.Version() {
		err = &VersionError{Path: d.path, Have: have, Know: tables.Version()}
	}
	return err
}

// Room returns a *sqlitefile.NoRoomError if the disk has no room for the answers that a run may be about to pay for.
func (d *database) Room() error {
	if d.engine != nil {
		return nil
	}
	return sqlitefile.Room(d.path, sqlitefile.AnswerRoom)
}

// reopen closes every connection, so that the next ones open the files that are there now.
func (d *database) reopen() {
	for _, db := range []*sql.DB{d.write, d.read} {
		db.SetMaxIdleConns(0)
	}
	for began := time.Now(); d.read.Stats().OpenConnections > 0 && time.Since(began) < reopenFor; {
		time.Sleep(time.Millisecond)
	}
	d.write.SetMaxIdleConns(1)
	d.read.SetMaxIdleConns(readers)
}
