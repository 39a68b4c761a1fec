package sqliteledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/trendvidstream/ingest/quota"
)

// An older copy of the file looks like the file itself, but has forgotten charges. So the lock file beside it
// remembers what was acknowledged last. It is not synced to disk: after a crash it can only be behind, and then a
// rollback may go unnoticed, but no good file is ever refused.

// commitMarker is what a transaction has written that an older copy of the file lacks; 0 is nothing. Most
// transactions write a newest entry or operation, which tells them from all before. The others are counted.
type commitMarker struct {
	writes              int64 // the file's own count of the transactions that have nothing else
	operation           int64 // its id
	pool, entry, number int64 // the newest entry: its pool, time and number
}

// Where in the lock file: after the byte that is locked, which nobody else may read on some systems.
const (
	writesAt    = 20
	operationAt = 40
	entryAt     = 60
)

// remember keeps the marker for the next Open. Where that fails, a rollback may go unnoticed.
func (q *queue) remember(m commitMarker) {
	if m.writes > 0 {
		q.writeNumbers(writesAt, m.writes)
	}
	if m.operation > 0 {
		q.writeNumbers(operationAt, m.operation)
	}
	if m.pool > 0 {
		q.writeNumbers(entryAt, m.pool, m.entry, m.number)
	}
}

// writeNumbers writes numbers into the lock file, 19 digits and a new line each.
func (q *queue) writeNumbers(at int64, numbers ...int64) {
	q.line = q.line[:0]
	for _, n := range numbers {
		for width := int64(1_000_000_000_000_000_000); width > max(n, 1); width /= 10 {
			q.line = append(q.line, ' ')
		}
		q.line = append(strconv.AppendInt(q.line, n, 10), '\n')
	}
	_, _ = q.lock.WriteAt(q.line, at)
}

// lastMarker reads the marker of the last transaction; all 0 if none is known.
func (q *queue) lastMarker() (m commitMarker) {
	text := make([]byte, 5*20)
	_, _ = q.lock.ReadAt(text, writesAt)
	for i, into := range []*int64{&m.writes, &m.operation, &m.pool, &m.entry, &m.number} {
		_, _ = fmt.Sscan(string(text[i*20:][:20]), into)
	}
	return m
}

// hasMarker reports whether the file has what is remembered. Ids are not used twice: a pool that is gone was
// deleted, or is not there yet, and both deleting and making one are counted as writes.
const hasMarker = `
	SELECT writes >= ?1
	   AND (SELECT coalesce(max(id), 0) FROM operations) >= ?2
	   AND (NOT EXISTS (SELECT 1 FROM pools WHERE id = ?3)
	        OR EXISTS (SELECT 1 FROM entries WHERE pool = ?3 AND (at, number) >= (?4, ?5)))
	FROM file`

// checkNotRolledBack refuses a file that is older than what was acknowledged by those who had it open before.
func (l *Ledger) checkNotRolledBack(ctx context.Context) error {
	m := l.queue.lastMarker() // before the file is read, since others may write meanwhile
	err := l.read(ctx, func(t *transaction) error {
		var has bool
		err := t.conn.once(hasMarker, func(s *stmt) error { return s.row([]any{m.writes, m.operation, m.pool, m.entry, m.number}, &has) })
		if err != nil {
			return l.explain("read", err)
		}
		if !has {
			return fmt.Errorf("%w: %s is an older copy, which has not all that was acknowledged: put the newest back, or move it away",
				quota.ErrCorrupt, l.path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if l.file, err = os.Stat(l.path); err != nil {
		return fmt.Errorf("%w: %w", quota.ErrUnavailable, err)
	}
	return nil
}

// ErrMoved means that the file was deleted or replaced while it was open. What would be written into it is lost, and
// other programs count in another file: close the ledger and open it again.
var ErrMoved = errors.New("it is no longer the file that was opened")

// checkSameFile refuses a file that was deleted, or whose name another file has taken.
func (l *Ledger) checkSameFile() error {
	now, err := os.Stat(l.path)
	switch {
	case l.file == nil: // it is just being opened
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s was deleted while it was open: %w", quota.ErrUnavailable, l.path, ErrMoved)
	case err != nil:
		return fmt.Errorf("%w: %w", quota.ErrUnavailable, err)
	case !os.SameFile(l.file, now):
		return fmt.Errorf("%w: %s was replaced while it was open: %w", quota.ErrUnavailable, l.path, ErrMoved)
	}
	return nil
}
