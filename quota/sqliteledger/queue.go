package sqliteledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/trendvidstream/ingest/internal/ownfile"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// queue admits one writer at a time: first of this process, then of all processes on the file.
//
// Between processes it is a file lock, which the system releases when a process dies. That alone would be unfair: a
// writer that leaves and returns takes the lock before the process that the kernel has just woken runs. So waiting
// processes hold a shared lock on a second file, and a writer that has just left lets them go first.
type queue struct {
	turn    chan struct{} // of capacity 1: the process that put in a token may take the lock
	lock    *os.File
	waiting *os.File
	left    time.Time // when this process last gave the lock back
	closed  atomic.Bool
	// hung says that a wait of busyTimeout failed and no process has had a turn since: the process with the lock is
	// stopped. Until it continues, waits are short, so that it costs one time-out and not one per call.
	hung    atomic.Bool
	errHung error // the error of such a wait
}

const (
	busyTimeout = 5 * time.Second        // longer than any queue of writers: after it the ledger is hung
	reacquire   = time.Millisecond       // a writer that returns sooner lets others go first
	yieldDelay  = 100 * time.Microsecond // long enough for a woken process to run
	hungWait    = 50 * time.Millisecond  // instead of busyTimeout while the file is hung
	firstRetry  = 200 * time.Microsecond // for SQLite's own lock, then twice as long each time
	longestWait = 10 * time.Millisecond
)

// openQueue opens the two lock files beside path.
func openQueue(path string) (*queue, error) {
	lock, err := ownfile.Open(sqlitefile.LockPath(path), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	waiting, err := ownfile.Open(path+".waiting", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	errHung := fmt.Errorf("another process has held %s for %v: is one stopped? fuser names it", lock.Name(), busyTimeout)
	return &queue{turn: make(chan struct{}, 1), lock: lock, waiting: waiting, errHung: errHung}, nil
}

// close closes the files, now or when the last goroutine has left the queue: a descriptor in use must not be reused.
func (q *queue) close() error {
	q.closed.Store(true)
	select {
	case q.turn <- struct{}{}: // never given back
		return errors.Join(q.lock.Close(), q.waiting.Close())
	default:
		return nil
	}
}

// endTurn gives the turn to the next goroutine of this process.
func (q *queue) endTurn() {
	<-q.turn
	if q.closed.Load() {
		_ = q.close()
	}
}

// giveUpAt returns the time when a write stops waiting for the queue and the file.
func (q *queue) giveUpAt() time.Time {
	if q.hung.Load() {
		return time.Now().Add(hungWait)
	}
	return time.Now().Add(busyTimeout)
}

// endWait records the end of a wait, and returns its reason.
func (q *queue) endWait(ctx context.Context) error {
	err := context.Cause(ctx)
	if errors.Is(err, q.errHung) {
		q.hung.Store(true)
	}
	return err
}

// begin begins a transaction once no other process writes.
func (q *queue) begin(ctx context.Context, until time.Time, begin func() error) error {
	for wait := firstRetry; ; wait = min(2*wait, longestWait) {
		err := begin()
		if err == nil {
			q.hung.Store(false)
		}
		if sqlitefile.Code(err) != sqlite3.SQLITE_BUSY { // BUSY: a program that ignores the queue has the file
			return err
		}
		if time.Until(until) <= 0 {
			q.hung.Store(true)
			return fmt.Errorf("%w: %w", q.errHung, err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// enter waits for its turn; leave ends it.
func (q *queue) enter(ctx context.Context, until time.Time) (err error) {
	if q.closed.Load() {
		return os.ErrClosed
	}
	select {
	case q.turn <- struct{}{}:
	default:
		waiting, cancel := context.WithDeadlineCause(ctx, until, q.errHung)
		defer cancel()
		select {
		case q.turn <- struct{}{}:
		case <-waiting.Done():
			return q.endWait(waiting)
		}
	}
	if time.Since(q.left) < reacquire && q.othersWait() {
		time.Sleep(yieldDelay)
	}
	if ok, err := sqlitefile.TryLock(q.lock); err != nil {
		q.endTurn()
		return err
	} else if ok {
		return nil
	}
	got := make(chan error, 1)
	go func() { got <- q.waitForLock() }()
	waiting, cancel := context.WithDeadlineCause(ctx, until, q.errHung)
	defer cancel()
	select {
	case err := <-got:
		if err != nil {
			q.endTurn()
		}
		return err
	case <-waiting.Done():
		go func() { // the lock may still be granted: release it
			if <-got == nil {
				q.hung.Store(false)
				q.leave()
			} else {
				q.endTurn()
			}
		}()
		return q.endWait(waiting)
	}
}

// waitForLock waits for the lock, and lets the other processes see that.
func (q *queue) waitForLock() error {
	if err := sqlitefile.LockShared(q.waiting); err != nil {
		return err
	}
	err := sqlitefile.Lock(q.lock)
	_ = sqlitefile.Unlock(q.waiting) // at worst others yield needlessly
	return err
}

// othersWait reports whether another process waits in the queue. This process is not among them, as it has the turn.
func (q *queue) othersWait() bool {
	free, err := sqlitefile.TryLock(q.waiting)
	if free {
		_ = sqlitefile.Unlock(q.waiting)
	}
	return err == nil && !free
}

func (q *queue) leave() {
	_ = sqlitefile.Unlock(q.lock)
	q.left = time.Now()
	q.endTurn()
}
