package store

import (
	"context"
	"database/sql"
)

// Version is a text that becomes another one with every commit, of this process or another: where two are equal nothing
// was written between. An error is that it is not known, after which all later ones are others.
func (s *Store) Version(ctx context.Context) (string, error) {
	if s.engine != nil {
		v, err := s.engine.Version(ctx)
		return v, s.explain(ctx, "ask whether the store has changed", err)
	}
	v, err := s.watcher.version(ctx, func() (*sql.DB, error) { return connect(s.path, 1, s.reading("_query_only=1")...) })
	return v, s.explain(ctx, "ask whether the store has changed", err)
}
