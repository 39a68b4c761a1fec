package pgledger

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// conns are the connections of one ledger. Those that are not used are kept; one on which anything went wrong is not.
type conns struct {
	config *pgconn.Config
	slots  chan struct{} // of those that exist

	mu     sync.Mutex
	idle   []*conn
	closed bool
	ending []*pgconn.PgConn // broken, and not yet cleaned up
	pooled atomic.Bool      // a statement that was prepared was not there: a pooler stands between
}

// conn is one connection.
type conn struct {
	*pgconn.PgConn

	direct   bool // to a server's own process: what is prepared stays
	prepared map[string]string
	used     time.Time
}

var (
	errClosed = errors.New("the ledger is closed")
	errBusy   = errors.New("all connections are busy")
)

// checkAfter is how long a connection may be idle before it is looked at: a server that was restarted has closed it.
const checkAfter = time.Second

// get takes a connection that is idle, or makes one.
func (p *conns) get(ctx context.Context) (*conn, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, &unsentError{errBusy}
	}
	for {
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			<-p.slots
			return nil, &unsentError{errClosed}
		}
		n := len(p.idle)
		if n == 0 {
			p.mu.Unlock()
			break
		}
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		if time.Since(c.used) < checkAfter || c.Ping(ctx) == nil {
			return c, nil
		}
		p.end(c.PgConn)
	}
	c, err := p.connect(ctx)
	if err != nil {
		<-p.slots
		return nil, &unsentError{err}
	}
	return c, nil
}

// connect makes a connection. A pooler gives its clients process ids of its own.
func (p *conns) connect(ctx context.Context) (*conn, error) {
	pg, err := pgconn.ConnectConfig(ctx, p.config)
	if err != nil {
		return nil, err
	}
	r := pg.ExecParams(ctx, "SELECT pg_backend_pid()", nil, nil, nil, nil).Read()
	if r.Err != nil {
		p.end(pg)
		return nil, r.Err
	}
	pid := strconv.FormatUint(uint64(pg.PID()), 10)
	return &conn{PgConn: pg, direct: string(r.Rows[0][0]) == pid, prepared: map[string]string{}}, nil
}

// put gives a connection back. With one that is broken all idle ones go: the server was likely restarted.
func (p *conns) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.used = time.Now()
	p.idle = append(p.idle, c)
	if p.closed || c.IsClosed() || c.TxStatus() != 'I' {
		for _, c := range p.idle {
			p.end(c.PgConn)
		}
		p.ending = slices.DeleteFunc(p.ending, func(pg *pgconn.PgConn) bool {
			select {
			case <-pg.CleanupDone():
				return true
			default:
				return false
			}
		})
		p.idle, p.ending = nil, append(p.ending, c.PgConn)
	}
	<-p.slots
}

// end closes a connection. It says goodbye, and waits for no answer.
func (p *conns) end(pg *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	_ = pg.Close(ctx)
}

const goodbye = 100 * time.Millisecond

// close ends all that are idle, and waits for those that are being cleaned up, but no longer than that.
func (p *conns) close(atMost time.Duration) {
	p.mu.Lock()
	idle, ending := p.idle, p.ending
	p.idle, p.ending, p.closed = nil, nil, true
	p.mu.Unlock()
	for _, c := range idle {
		p.end(c.PgConn)
	}
	timeout := time.After(atMost)
	for _, pg := range ending {
		select {
		case <-pg.CleanupDone():
		case <-timeout:
			return
		}
	}
}

// run runs one statement and reads all its rows. Every value is text.
func (p *conns) run(ctx context.Context, c *conn, sql string, args [][]byte) ([][][]byte, error) {
	r := c.ExecParams(ctx, sql, args, nil, nil, nil).Read()
	return r.Rows, r.Err
}

// runPrepared does what run does, for a statement that is asked often.
func (p *conns) runPrepared(ctx context.Context, c *conn, sql string, args [][]byte) ([][][]byte, error) {
	if !c.direct || p.pooled.Load() {
		return p.run(ctx, c, sql, args)
	}
	name := c.prepared[sql]
	if name == "" {
		name = "ingest_" + strconv.Itoa(len(c.prepared))
		if _, err := c.Prepare(ctx, name, sql, nil); err != nil {
			return nil, &unsentError{err}
		}
		c.prepared[sql] = name
	}
	r := c.ExecPrepared(ctx, name, args, nil, nil).Read()
	return r.Rows, r.Err
}

// unsentError is what went wrong before anything was asked.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return e.err.Error() }
func (e *unsentError) Unwrap() error { return e.err }
