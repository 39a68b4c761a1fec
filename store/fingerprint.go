package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"sync"
)

// commits tells whether anybody has written since, through a connection of its own: SQLite counts commits per connection.
type commits struct {
	mu   sync.Mutex
	db   *sql.DB
	conn *sql.Conn
	name string // of conn: counts of different connections are not comparable
}

// fingerprint returns a text that changes with every commit. open makes the pool for the connection, on first use.
func (c *commits) fingerprint(ctx context.Context, open func() (*sql.DB, error)) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if c.conn == nil {
		if c.db, err = open(); err == nil {
			c.name = rand.Text()
			c.conn, err = c.db.Conn(ctx)
		}
	}
	var n int64
	if err == nil {
		err = c.conn.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&n)
	}
	if err != nil {
		c.end()
		return "", err
	}
	return fmt.Sprintf("%s-%d", c.name, n), nil
}

func (c *commits) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end()
}

func (c *commits) end() {
	if c.conn != nil {
		_ = c.conn.Close()
	}
	if c.db != nil {
		_ = c.db.Close()
	}
	c.db, c.conn = nil, nil
}
