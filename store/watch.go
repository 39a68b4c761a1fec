package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"
)

// errReplaced means that somebody has deleted or replaced a file of the store while it was in use.
var errReplaced = errors.New("was deleted or replaced while it was in use")

// reopenFor bounds how long a store whose files were taken away waits for its readers to finish.
const reopenFor = 5 * time.Second

// files identifies the files of a store in use.
type files [3]os.FileInfo

var fileSuffixes = [len(files{})]string{"", "-wal", "-shm"}

// watch makes sure that the files being written are those that others find. SQLite keeps its files open and would go on
// writing to files without a name, where everything would be lost. Every write transaction begins with it, and its
// error ends the transaction. If only the log is gone, what this process has of it goes into ingest.db, and the next
// transaction succeeds. A newer program may also have upgraded the store meanwhile: VersionError.
func (d *database) watch(ctx context.Context, tx *sql.Tx) error {
	var have int
	if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&have); err != nil {
		return err
	}
	if have > version {
		return &VersionError{Path: d.path, Have: have, Know: version}
	}
	taken := -1
	for i, suffix := range fileSuffixes {
		info, err := os.Stat(d.path + suffix)
		switch {
		case d.seen[i] == nil && err == nil:
			d.seen[i] = info // first seen now: from here on it must stay
		case d.seen[i] != nil && (err != nil || !os.SameFile(info, d.seen[i])) && taken < 0:
			taken = i
		}
	}
	if taken < 0 {
		return nil
	}
	path := d.path + fileSuffixes[taken]
	if taken == 0 {
		return fmt.Errorf("%s %w: stop ingest serve, and start it again", path, errReplaced)
	}
	d.seen = files{d.seen[0]}
	_ = tx.Rollback() // a log cannot be moved within a transaction
	saved := "what was in the log has been saved"
	var busy, frames, moved int
	if err := d.write.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &frames, &moved); err != nil || busy != 0 {
		saved = "what was in the log may be lost, and the next runs fetch it again"
	}
	d.reopen()
	return fmt.Errorf("%s %w: %s; leave the files beside ingest.db alone while ingest runs", path, errReplaced, saved)
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
