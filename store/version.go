package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"sync"
)

// watcher is a connection of its own that sees whether others have written: SQLite counts that for each connection.
type watcher struct {
	mu   sync.Mutex
	db   *sql.DB
	conn *sql.Conn
	name string // of conn: the counts of two connections say nothing of each other
}

// Version is a text that becomes another one with every commit, of this process or another: where two are equal nothing
// was written between. An error is that it is not known, after which all later ones are others.
func (s *Store) Version(ctx context.Context) (string, error) {
	w := &s.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.open(ctx, s.database)
	var n int64
	if err == nil {
		err = w.conn.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&n)
	}
	if err != nil {
		w.close()
		return "", s.explain(ctx, "ask whether the store has changed", err)
	}
	return fmt.Sprintf("%s-%d", w.name, n), nil
}

func (w *watcher) open(ctx context.Context, d *database) (err error) {
	if w.conn != nil {
		return nil
	}
	if w.db, err = connect(d.path, 1, d.reading("_query_only=1")...); err != nil {
		return err
	}
	w.name = rand.Text()
	w.conn, err = w.db.Conn(ctx)
	return err
}

func (w *watcher) close() {
	if w.conn != nil {
		_ = w.conn.Close()
	}
	if w.db != nil {
		_ = w.db.Close()
	}
	w.db, w.conn = nil, nil
}
