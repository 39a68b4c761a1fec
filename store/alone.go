package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrBusy means that another process does the same work.
var ErrBusy = errors.New("another process is doing the same")

// aloneFor is how long the mark of a dead process keeps others out.
const aloneFor = 2 * time.Minute

// Alone calls do unless another process, on any machine, does work of this name with this store, or died doing it less
// than two minutes ago: ErrBusy.
func (s *Store) Alone(ctx context.Context, name string, do func() error) error {
	name, doing := "alone: "+name, "mark that this process alone does "+name
	now := s.now()
	err := s.tx(ctx, doing, func(tx *txn) error {
		n, err := affected(tx.ExecContext(ctx, `
			INSERT INTO meta (name, value) VALUES (?1, ?2)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE CAST(meta.value AS bigint) <= ?3`,
			name, fmt.Sprint(now.Add(aloneFor).UnixMilli()), now.UnixMilli()))
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: see that it ends, or wait %v if it was cut short", ErrBusy, aloneFor)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = do()
	_, unmark := s.exec(context.WithoutCancel(ctx), doing, `DELETE FROM meta WHERE name = ?`, name)
	return cmp.Or(err, unmark) // a remaining mark keeps others out for a while; err mostly says why
}
