package redisledger

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strconv"
	"syscall"
	"time"
)

// Limits of one reply. The longest that a script returns is a journal's part, of a few megabytes. The client allocates
// by the lengths that a server announces, before the bytes have come: 13 bytes could take all memory.
const (
	maxLine     = 64 << 10 // of a status, an error or a length, in bytes
	maxBulk     = 16 << 20 // of one string
	maxReply    = 32 << 20 // of all its strings
	maxElements = 1 << 18  // of all its arrays and maps; the client takes some 150 bytes for each
	maxNested   = 16       // arrays in arrays: the client recurses
)

// errUnbounded is the error of a reply beyond these limits; the connection is then useless.
var errUnbounded = errors.New("its answer is longer, or nested deeper, " +
	"than any answer of a ledger's Redis: is this the address of another program?")

// The first two bytes of a TLS record that refuses the request.
const (
	tlsAlert   = 21
	tlsVersion = 3
)

// errTLS is a server's answer in TLS to a request in clear. The server carried out nothing.
var errTLS = errors.New("it answers in TLS")

// dialer opens a connection.
type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// guard returns a dialer of connections that refuse replies beyond the limits. A reply may take longer by the time of
// connecting, at most a second, since that is the distance to the server.
func guard(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		began := time.Now()
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		g := &guarded{Conn: c, far: min(time.Since(began), time.Second)}
		if raw, ok := c.(syscall.Conn); ok { // so that the client sees that an idle connection was closed
			return &struct {
				*guarded
				syscall.Conn
			}{g, raw}, nil
		}
		return g, nil
	}
}

// guarded is a connection that checks each reply, and fails at the first header beyond the limits, before the client
// sees it.
type guarded struct {
	net.Conn

	far      time.Duration // how long connecting took
	answered bool          // at least one byte came
	line     []byte        // of a header that has not ended
	skip     int           // bytes of a string that are still to come, with its end of line
	open     []int         // elements that are still to come, of each open array
	bytes    int           // of this reply's strings
	elements int           // of this reply's arrays
}

// SetReadDeadline implements net.Conn.
func (g *guarded) SetReadDeadline(t time.Time) error {
	if t.After(time.Now()) { // the client ends a read by a deadline in the past
		t = t.Add(g.far)
	}
	return g.Conn.SetReadDeadline(t)
}

// Read implements net.Conn.
func (g *guarded) Read(into []byte) (int, error) {
	n, err := g.Conn.Read(into)
	if n >= 2 && !g.answered && into[0] == tlsAlert && into[1] == tlsVersion {
		return 0, errors.Join(errTLS, g.Close())
	}
	g.answered = g.answered || n > 0
	if !g.follow(into[:n]) {
		return 0, errors.Join(errUnbounded, g.Close())
	}
	return n, err
}

// follow reports whether the bytes keep the limits.
func (g *guarded) follow(b []byte) bool {
	for len(b) > 0 {
		if g.skip > 0 {
			n := min(g.skip, len(b))
			if g.skip, b = g.skip-n, b[n:]; g.skip == 0 {
				g.element()
			}
			continue
		}
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			g.line = append(g.line, b...)
			return len(g.line) <= maxLine
		}
		line := append(g.line, b[:end]...)
		g.line, b = g.line[:0], b[end+1:]
		if len(line) > maxLine || !g.header(bytes.TrimSuffix(line, []byte("\r"))) {
			return false
		}
	}
	return true
}

// header reads the line that begins a value.
func (g *guarded) header(line []byte) bool {
	if len(line) == 0 {
		return true // the client refuses it
	}
	switch line[0] {
	case '$', '!', '=':
		n, ok := length(line, maxBulk)
		if g.bytes += max(n, 0); !ok || g.bytes > maxReply {
			return false
		}
		if n < 0 {
			g.element()
		} else {
			g.skip = n + len("\r\n")
		}
	case '*', '~', '>', '%', '|':
		n, ok := length(line, maxElements)
		if line[0] == '%' || line[0] == '|' {
			n *= 2
		}
		if g.elements += max(n, 0); !ok || g.elements > maxElements || len(g.open) >= maxNested {
			return false
		}
		if n <= 0 {
			g.element()
		} else {
			g.open = append(g.open, n)
		}
	default:
		g.element()
	}
	return true
}

// length reads the number of a header; -1 is a value that is missing.
func length(line []byte, most int) (int, bool) {
	n, err := strconv.Atoi(string(line[1:]))
	return n, err == nil && n >= -1 && n <= most
}

// element ends a value, and each array that it completes.
func (g *guarded) element() {
	for len(g.open) > 0 {
		last := len(g.open) - 1
		if g.open[last]--; g.open[last] > 0 {
			return
		}
		g.open = g.open[:last]
	}
	g.bytes, g.elements = 0, 0
}
