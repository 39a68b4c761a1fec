package pgstore

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// impatient returns a dial function whose connections wait at most silentFor for a read. A frozen server keeps its
// connections alive, and its clients would wait until it thaws.
func impatient(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &bounded{Conn: c}, nil
	}
}

// bounded is a connection whose reads end with os.ErrDeadlineExceeded after silentFor, or at its own deadline.
type bounded struct {
	net.Conn

	mu    sync.Mutex
	until time.Time // the deadline that was set; zero: none
}

// Read implements net.Conn.
func (b *bounded) Read(into []byte) (int, error) {
	if err := b.startReading(); err != nil {
		return 0, err
	}
	return b.Conn.Read(into)
}

func (b *bounded) startReading() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if until := time.Now().Add(silentFor); b.until.IsZero() || until.Before(b.until) {
		return b.Conn.SetReadDeadline(until)
	}
	return b.Conn.SetReadDeadline(b.until)
}

// SetDeadline implements net.Conn.
func (b *bounded) SetDeadline(t time.Time) error {
	return errors.Join(b.SetReadDeadline(t), b.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (b *bounded) SetReadDeadline(t time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.until = t
	return b.Conn.SetReadDeadline(t)
}
