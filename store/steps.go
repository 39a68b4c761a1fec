package store

import (
	"context"
	"time"
)

// steps does in many short transactions what one would keep other writers waiting with: step is called until
// it says that there is no more. Behind each it rests for as long as that took. Another process looks every
// few milliseconds whether it may write, and without the rest finds the lock taken whenever it looks.
func (s *Store) steps(ctx context.Context, doing string, step func(*txn) (more bool, err error)) error {
	for {
		began, more := time.Now(), false
		err := s.tx(ctx, doing, func(tx *txn) (err error) {
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
