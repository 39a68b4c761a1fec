package postgres

import (
	"encoding/binary"
	"errors"
	"io"
)

// maxGreeting bounds what a server may say before it is ready for a query, in bytes: the client keeps every setting of
// it. Usual are some hundreds.
const maxGreeting = 1 << 20

var errGreeting = errors.New("the server says more than any PostgreSQL before it is ready: see whether it is one")

// greeting reads from a server, and fails if that says too much before its first ReadyForQuery.
// https://www.postgresql.org/docs/current/protocol-overview.html#PROTOCOL-MESSAGE-CONCEPTS
type greeting struct {
	from  io.Reader
	said  int
	head  []byte // of a message: its kind and its length, as far as they came
	rest  int64  // of its body
	ready bool
}

// Read implements io.Reader.
func (g *greeting) Read(p []byte) (int, error) {
	n, err := g.from.Read(p)
	if g.ready {
		return n, err
	}
	if g.said += n; g.said > maxGreeting {
		return 0, errGreeting
	}
	for _, b := range p[:n] {
		if g.rest > 0 {
			g.rest--
			continue
		}
		if g.head = append(g.head, b); len(g.head) == 5 {
			g.ready = g.ready || g.head[0] == 'Z'
			g.rest, g.head = int64(binary.BigEndian.Uint32(g.head[1:]))-4, g.head[:0]
		}
	}
	return n, err
}
