package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"sync"
)

// watcher sees whether others have written, through a connection of its own: SQLite counts commits per connection.
type watcher struct {
	mu   sync.Mutex
	db   *sql.DB
	conn *sql.Conn
	name string // of conn: counts of different connections are not comparable
}

// version returns a string that changes with every commit. open makes the pool for the connection, on first use.
func (w *watcher) version(ctx context.Context, open func() (*sql.DB, error)) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	if w.conn == nil {
		if w.db, err = open(); err == nil {
			w.name = rand.Text()
			w.conn, err = w.db.Conn(ctx)
		}
	}
	var n int64
	if err == nil {
		err = w.conn.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&n)
	}
	if err != nil {
		w.end()
		return "", err
	}
	return fmt.Sprintf("%s-%d", w.name, n), nil
}

func (w *watcher) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
}

func (w *watcher) end() {
	if w.conn != nil {
		_ = w.conn.Close()
	}
	if w.db != nil {
		_ = w.db.Close()
	}
	w.db, w.conn = nil, nil
}
