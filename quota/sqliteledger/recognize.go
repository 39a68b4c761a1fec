package sqliteledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/trendvidstream/ingest/quota"
)

// An older copy of the file looks like the file, but has forgotten charges. So the lock file beside it
// remembers what was acknowledged last. That is not synced to disk, since it is only ever behind then:
// a crash costs the proof, and never accuses wrongly.

// proof is what an older copy of the file lacks, as one transaction has written it; 0 is nothing. Most
// have something anyway that tells them from all before, and need not count themselves.
type proof struct {
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

// remember keeps the proof for the next Open. That it may fail costs the proof only.
func (q *queue) remember(p proof) {
	if p.writes > 0 {
		_, _ = q.lock.WriteAt(fmt.Appendf(nil, "%19d\n", p.writes), writesAt)
	}
	if p.operation > 0 {
		_, _ = q.lock.WriteAt(fmt.Appendf(nil, "%19d\n", p.operation), operationAt)
	}
	if p.pool > 0 {
		_, _ = q.lock.WriteAt(fmt.Appendf(nil, "%19d\n%19d\n%19d\n", p.pool, p.entry, p.number), entryAt)
	}
}

// remembered is 0 where nothing is known.
func (q *queue) remembered() (p proof) {
	text := make([]byte, 5*20)
	_, _ = q.lock.ReadAt(text, writesAt)
	for i, into := range []*int64{&p.writes, &p.operation, &p.pool, &p.entry, &p.number} {
		_, _ = fmt.Sscan(string(text[i*20:][:20]), into)
	}
	return p
}

// proven reports whether the file has what is remembered. Ids are not used twice: a pool that is gone
// was deleted, which counts, or never there, and to make it counted.
const proven = `
	SELECT writes >= ?1
	   AND (SELECT coalesce(max(id), 0) FROM operations) >= ?2
	   AND (NOT EXISTS (SELECT 1 FROM pools WHERE id = ?3)
	        OR EXISTS (SELECT 1 FROM entries WHERE pool = ?3 AND (at, number) >= (?4, ?5)))
	FROM file`

// recognize refuses a file that is older than what was acknowledged by those who had it open before.
func (l *Ledger) recognize(ctx context.Context) error {
	p := l.queue.remembered() // before the file is read, which meanwhile may go on
	err := l.read(ctx, func(t *transaction) error {
		var has bool
		if err := t.conn.QueryRowContext(t.ctx, proven, p.writes, p.operation, p.pool, p.entry, p.number).Scan(&has); err != nil {
			return l.broken("read", err)
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

// unmoved refuses to write into a file when another has its name: what is written into it would be
// lost. One that was only deleted is all there is, and goes on until it is closed.
func (l *Ledger) unmoved() error {
	now, err := os.Stat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w", quota.ErrUnavailable, err)
	case !os.SameFile(l.file, now):
		return fmt.Errorf("%w: %s was replaced while it was open: start this program again", quota.ErrUnavailable, l.path)
	}
	return nil
}
