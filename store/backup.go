package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// Copy is a backup that was made: a store of its own, as of one moment.
type Copy struct {
	Path       string
	Bytes      int64
	Videos     int64
	Placements int64
	Slots      int64
}

// Backup copies the store into a new file, of mode 0600, as of one moment, while others read and write it.
// A file that is there is an fs.ErrExist and is left alone. The copy has its name only when it is whole,
// found sound, and on the disk; of a failure nothing remains. Until then it is FILE.part- and a number: what a
// process that was killed has left of that, the next backup into the same file removes.
func (s *Store) Backup(ctx context.Context, file string) (Copy, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return Copy{}, fmt.Errorf("back up into %q: %w", file, err)
	}
	return copying{from: s.database, to: file, part: filepath.Base(file) + ".part-"}.run(ctx)
}

// copying is one copy to make: part begins the name that it has until it is whole.
type copying struct {
	from     *database
	to, part string
}

func (c copying) run(ctx context.Context) (Copy, error) {
	// A -wal of another file would be taken for the copy's, and written into it.
	for _, path := range []string{c.to, c.to + "-wal", c.to + "-journal"} {
		if _, err := os.Lstat(path); err == nil {
			return Copy{}, &fs.PathError{Op: "back up into", Path: path, Err: fs.ErrExist}
		}
	}
	c.removeLeft()
	f, err := os.CreateTemp(filepath.Dir(c.to), c.part+"*") // 0600
	if err != nil {
		return Copy{}, fmt.Errorf("back up into %s: %w: give a file in a directory that can be written", c.to, err)
	}
	part := f.Name()
	defer func() { _ = sqlitefile.Remove(part) }()
	if err := f.Close(); err != nil {
		return Copy{}, fmt.Errorf("back up into %s: %w", c.to, err)
	}
	have, exact, err := c.from.copyInto(ctx, part)
	if err != nil {
		return Copy{}, err
	}
	made, err := finishCopy(ctx, part, c.to)
	if err != nil {
		return Copy{}, err
	}
	have.Path, have.Bytes = made.Path, made.Bytes
	if exact && have != made {
		return Copy{}, fmt.Errorf("back up into %s: the copy has %+v, and the store %+v: look whether the disk is sound, and try again", c.to, made, have)
	}
	if err := sqlitefile.Publish(part, c.to); err != nil {
		return Copy{}, fmt.Errorf("back up into %s: %w", c.to, err)
	}
	return made, nil
}

// removeLeft removes the parts of copies that no process is making: those that nobody has locked. Of two processes
// that make the same copy at the same time one has to fail anyway.
func (c copying) removeLeft() {
	entries, err := os.ReadDir(filepath.Dir(c.to))
	if err != nil {
		return // so will making the part
	}
	for _, e := range entries {
		number, ours := strings.CutPrefix(e.Name(), c.part)
		if _, err := strconv.ParseUint(number, 10, 64); !ours || err != nil {
			continue
		}
		path := filepath.Join(filepath.Dir(c.to), e.Name())
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		free := sqlitefile.LockExclusive(f) == nil // elsewhere than on Unix always, and there what is open is not removed
		_ = f.Close()
		if free {
			_ = sqlitefile.Remove(path)
		}
	}
}

// copyInto copies the store into the empty file part, and says what was in it. It is exact unless somebody
// wrote meanwhile.
func (d *database) copyInto(ctx context.Context, part string) (have Copy, exact bool, err error) {
	doing := "back up into " + filepath.Dir(part)
	// Not query_only: that would refuse to write the copy, too.
	db, err := connect(d.path, 1, d.reading()...)
	if err != nil {
		return have, false, d.explain(ctx, doing, err)
	}
	defer func() { _ = db.Close() }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return have, false, d.explain(ctx, doing, err)
	}
	defer func() { _ = conn.Close() }()
	state := func() (n int64, err error) { // of what others have written
		err = conn.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&n)
		return n, err
	}
	before, err := state()
	if err != nil {
		return have, false, d.explain(ctx, doing, err)
	}
	if err := have.count(ctx, conn); err != nil {
		return have, false, d.explain(ctx, doing, err)
	}
	if err := vacuumInto(ctx, conn, part); err != nil {
		whose := d.path
		var source *CorruptError
		if err := d.explain(ctx, doing, err); !errors.As(err, &source) {
			whose = part // that cannot be written
		}
		return have, false, explain(ctx, whose, doing, err)
	}
	after, err := state()
	return have, before == after, d.explain(ctx, doing, err)
}

// vacuumInto waits for as long as a writer may take that is closing the store and folding its log into the file.
func vacuumInto(ctx context.Context, conn *sql.Conn, part string) error {
	for began := time.Now(); ; {
		_, err := conn.ExecContext(ctx, `VACUUM INTO ?`, part)
		if err == nil || !isBusy(err) || ctx.Err() != nil || time.Since(began) > busyFor {
			return err
		}
	}
}

// finishCopy puts the copy into WAL mode, which VACUUM INTO does not, examines it, and writes it to the disk.
func finishCopy(ctx context.Context, part, to string) (Copy, error) {
	made := Copy{Path: to}
	db, err := connect(part, 1, "mode=rw", "_journal_mode=WAL", "_synchronous=FULL")
	if err != nil {
		return made, explain(ctx, part, "finish the backup", err)
	}
	err = func() error {
		var application uint32
		if err := db.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&application); err != nil {
			return err
		}
		if application != applicationID {
			return &ApplicationError{Path: part, ID: application}
		}
		if found, err := damages(ctx, db); err != nil {
			return err
		} else if len(found) > 0 {
			return &CorruptError{Path: part, Doing: "examine the backup", Err: errors.New(found[0])}
		}
		return made.count(ctx, db)
	}()
	if err := errors.Join(err, db.Close()); err != nil {
		return made, explain(ctx, part, "finish the backup", err)
	}
	f, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		return made, fmt.Errorf("finish the backup: %w", err)
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return made, fmt.Errorf("finish the backup: %w", err)
	}
	made.Bytes = info.Size()
	return made, nil
}

func (c *Copy) count(ctx context.Context, q querier) error {
	return q.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM videos), (SELECT count(*) FROM placements), (SELECT count(*) FROM slots)`).
		Scan(&c.Videos, &c.Placements, &c.Slots)
}
