package store

import (
	"context"
	"database/sql"
)

// Version returns a text that changes with every commit, of this process or another: if two are equal, nothing was
// written between them. After an error it is not known, and all later ones are different.
func (s *Store) Version(ctx context.Context) (string, error) {
	if s.engine != nil {
		v, err := s.engine.Version(ctx)
		return v, s.explain(ctx, "ask whether the store has changed", err)
	}
	v, err := s.watcher.version(ctx, func() (*sql.DB, error) { return connect(s.path, 1, s.reading("_query_only=1")...) })
	return v, s.explain(ctx, "ask whether the store has changed", err)
}
