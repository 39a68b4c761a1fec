package postgres

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Impatient returns a dial function whose connections wait at most that long for the server: to connect, and for each
// read, which then ends with os.ErrDeadlineExceeded. A frozen server keeps its connections alive, and its clients
// would wait until it thaws. With connecting, that holds only until the connection is ready for queries.
func Impatient(dial pgconn.DialFunc, silent time.Duration, connecting bool) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		within, cancel := context.WithTimeout(ctx, silent)
		defer cancel()
		c, err := dial(within, network, addr)
		if err != nil {
			return nil, err
		}
		b := &impatient{Conn: c, silent: silent}
		if connecting {
			context.AfterFunc(ctx, b.calm) // the client ends this context when it has connected
		}
		return b, nil
	}
}

type impatient struct {
	net.Conn

	mu     sync.Mutex
	silent time.Duration // 0: any
	until  time.Time     // the deadline that was set; zero: none
}

// Read implements net.Conn.
func (c *impatient) Read(into []byte) (int, error) {
	if err := c.startReading(); err != nil {
		return 0, err
	}
	return c.Conn.Read(into)
}

func (c *impatient) startReading() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := time.Now().Add(c.silent); c.silent > 0 && (c.until.IsZero() || until.Before(c.until)) {
		return c.Conn.SetReadDeadline(until)
	}
	return c.Conn.SetReadDeadline(c.until)
}

func (c *impatient) calm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = 0
}

// SetDeadline implements net.Conn.
func (c *impatient) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *impatient) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = t
	return c.Conn.SetReadDeadline(t)
}
