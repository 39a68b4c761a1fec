package sqliteledger

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/trendvidstream/ingest/internal/ownfile"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/quota"
)

// An older copy of the file looks like the file itself, but lacks charges. The lock file beside it therefore has a
// mark, and every operation compares the file with it:
//
//   - Every writing transaction raises the file's count of them, and stores the count in the mark. A file with a
//     smaller count is an older copy.
//   - A copy written into the open file leaves SQLite with pages of both, since the newest pages are still in its log.
//     So the mark also has the file's size and time of change. Only checkpoints change them, and only writers in
//     their turn make those. If they differ, another program has written: a program with the file open may hold old
//     pages, and is refused; Open checks the whole file.
//   - A missing file is not created anew while there is a mark.
//
// The mark is not synced to disk. After a crash it can only be behind, so a good file is never refused.
type mark struct {
	writes        int64 // the file's count
	restored      int64 // how often Open has accepted another program's writes
	size, changed int64 // of the file: bytes, nanoseconds since 1970; changed 0: not known
}

// markAt is the position of the mark in the lock file: after the locked byte, which other processes cannot read on
// some systems.
const markAt = 8

func (q *queue) readMark() mark {
	n := make([]int64, 4) // for a slice encoding/binary needs no reflection
	if binary.Read(io.NewSectionReader(q.lock, markAt, int64(binary.Size(n))), binary.BigEndian, n) != nil {
		return mark{}
	}
	return mark{writes: n[0], restored: n[1], size: n[2], changed: n[3]}
}

// markBeside reads the mark beside a file that no process has open; all 0 if there is none.
func markBeside(path string) mark {
	f, err := ownfile.Open(sqlitefile.LockPath(path), os.O_RDONLY)
	if err != nil {
		return mark{}
	}
	defer func() { _ = f.Close() }()
	return (&queue{lock: f}).readMark()
}

// writeMark writes the mark. If that fails, an older copy may go unnoticed.
func (q *queue) writeMark(m mark) {
	_ = binary.Write(io.NewOffsetWriter(q.lock, markAt), binary.BigEndian,
		[]int64{m.writes, m.restored, m.size, m.changed})
}

// ErrMoved means that the file was deleted, replaced, or written by another program while it was open. Further writes
// to it may be lost: close the ledger and open it again.
var ErrMoved = errors.New("it is no longer the file that was opened")

// errChanged means that the file does not match the mark. A reader may see it during a writer's checkpoint, too.
var errChanged = fmt.Errorf("another program has written into it: %w", ErrMoved)

// checkFile compares the open file with its name and the mark.
func (l *Ledger) checkFile(m mark) error {
	now, err := os.Stat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s was deleted while it was open: %w", quota.ErrUnavailable, l.path, ErrMoved)
	case err != nil:
		return fmt.Errorf("%w: %w", quota.ErrUnavailable, err)
	case !os.SameFile(l.file, now) || m.restored != l.restored:
		return fmt.Errorf("%w: %s was replaced while it was open: %w", quota.ErrUnavailable, l.path, ErrMoved)
	case !m.describes(now):
		return fmt.Errorf("%w: %s: %w", quota.ErrUnavailable, l.path, errChanged)
	}
	return nil
}

// describes reports whether only ingest has changed the file.
func (m mark) describes(file os.FileInfo) bool {
	return m.changed == 0 || m.size == file.Size() && m.changed == file.ModTime().UnixNano()
}

// checkCount refuses a file that lacks acknowledged writes. A transaction that has read the account already knows the
// count.
func (t *transaction) checkCount(m mark) error {
	if t.writes == 0 {
		if err := t.row(sqlWrites, nil, &t.writes); err != nil {
			return err
		}
	}
	if t.writes < m.writes {
		return &DamagedError{t.ledger.path, fmt.Errorf("it %w, which lacks calls that were acknowledged", quota.ErrOlderCopy)}
	}
	return nil
}

// checkpoint writes SQLite's log into the file, or makes another change to the file, and marks the result. The caller
// has the turn. If the process dies in between, the mark says "not known".
func (l *Ledger) checkpoint(change func() error) error {
	m := l.queue.readMark()
	m.changed = 0
	l.queue.writeMark(m)
	err := change()
	if info, statErr := os.Stat(l.path); statErr == nil {
		m.size, m.changed = info.Size(), info.ModTime().UnixNano()
		l.queue.writeMark(m)
	}
	return err
}

// accept remembers the open file at the end of Open. It first checks the whole file if another program wrote into it.
func (l *Ledger) accept(ctx context.Context) error {
	if err := l.queue.enter(ctx, l.queue.giveUpAt()); err != nil {
		return l.explain("wait for", err)
	}
	defer l.queue.leave()
	m := l.queue.readMark()
	t := &transaction{ledger: l, session: l.reader}
	if err := t.checkCount(m); err != nil {
		return err
	}
	before, err := os.Stat(l.path)
	if err != nil {
		return fmt.Errorf("%w: %w", quota.ErrUnavailable, err)
	}
	if !m.describes(before) {
		if err := t.checkWhole(); err != nil {
			return err
		}
		m.restored++
	}
	// A backup of the file may have another journal mode, and every write in that mode would change the file itself.
	if _, err := l.writer.exec("PRAGMA journal_mode = wal"); err != nil {
		return l.explain("open", err)
	}
	if l.file, err = os.Stat(l.path); err != nil {
		return fmt.Errorf("%w: %w", quota.ErrUnavailable, err)
	}
	l.restored, m.size, m.changed = m.restored, l.file.Size(), l.file.ModTime().UnixNano()
	l.queue.writeMark(m)
	return nil
}

// checkWhole looks for pages of an older copy in the file.
func (t *transaction) checkWhole() error {
	damage, gaps := "", int64(0)
	err := t.row("PRAGMA integrity_check(1)", nil, &damage)
	if err == nil && damage == "ok" {
		err = t.row(sqlGaps, nil, &gaps)
	}
	if err == nil && (damage != "ok" || gaps > 0) {
		err = &DamagedError{t.ledger.path,
			errors.New("another program has written into it, and some acknowledged operations are missing")}
	}
	return err
}

// closeWait is how long Close waits for its turn.
const closeWait = time.Second

// closeSessions closes the connections. The last close makes SQLite's last checkpoint, which the mark must record. So
// it waits for its turn, but not for long.
func (l *Ledger) closeSessions() error {
	closeAll := func() error { return errors.Join(l.reader.close(), l.writer.close()) }
	if l.file == nil || l.queue.enter(context.Background(), time.Now().Add(closeWait)) != nil {
		return closeAll()
	}
	defer l.queue.leave()
	if l.checkFile(l.queue.readMark()) != nil {
		return closeAll()
	}
	return l.checkpoint(closeAll)
}
