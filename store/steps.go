package store

import (
	"context"
	"time"
)

// steps does in many short transactions what one would keep other writers waiting with: step is called until
// it says that there is no more. Behind each it rests for as long as that had the lock, whatever it waited for
// it. Another process looks every few milliseconds whether it may write, and without the rest finds the lock
// taken whenever it looks.
func (s *Store) steps(ctx context.Context, doing string, step func(*txn) (more bool, err error)) error {
	for {
		var began time.Time
		more := false
		err := s.tx(ctx, doing, func(tx *txn) (err error) {
			began = time.Now()
			more, err = step(tx)
			return err
		})
		if err != nil || !more {
			return err
		}
		select {
		case <-ctx.Done(): // the next transaction says so
		case <-time.After(time.Since(began)):
		}
	}
}
