package store

import (
	"context"
	"fmt"
	"time"
)

// OpenOn opens a store in an engine whose tables exist and are of this program's version. The engine is closed with the
// store, or by OpenOn if it fails.
func OpenOn(ctx context.Context, e Engine, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{database: &database{path: e.Name, write: e.Write, read: e.Read, now: o.Now, engine: &e}}
	var copying bool
	err := s.view(ctx, "open the store", func(tx *txn) error {
		return tx.QueryRowContext(ctx, selectOwner).Scan(&s.upstream, &copying)
	})
	switch {
	case err != nil:
	case copying && !o.Copying:
		err = fmt.Errorf("%s: %w", s.path, ErrCopying)
	case o.Upstream != "" && s.upstream != "" && s.upstream != o.Upstream:
		err = &UpstreamError{Have: s.upstream, Want: o.Upstream, Path: s.path}
	case o.Upstream != "" && s.upstream == "" && !o.ReadOnly:
		err = claimFor(ctx, s.database, o.Upstream)
	}
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}
