package postgres

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/trendvidstream/ingest/internal/hide"
)

// maxGreeting bounds what a server may say before it is ready for a query, in bytes: the client keeps every setting of
// it. Usual are some hundreds.
const maxGreeting = 1 << 20

var errGreeting = errors.New("the server says more than any PostgreSQL before it is ready: see whether it is one")

// greeting reads from a server, fails if that says too much before its first ReadyForQuery, and masks the password in its
// errors and notices.
// https://www.postgresql.org/docs/current/protocol-overview.html#PROTOCOL-MESSAGE-CONCEPTS
type greeting struct {
	from     io.Reader
	password string
	said     int
	head     []byte // of a message: its kind and its length, as far as they came
	kind     byte
	rest     int64 // of its body
	ready    bool
}

// Read implements io.Reader.
func (g *greeting) Read(p []byte) (int, error) {
	n, err := g.from.Read(p)
	if g.said += n; !g.ready && g.said > maxGreeting {
		return 0, errGreeting
	}
	for b := p[:n]; len(b) > 0; {
		if g.rest > 0 {
			body := b[:min(int64(len(b)), g.rest)]
			if g.kind == 'E' || g.kind == 'N' {
				hide.In(body, g.password)
			}
			g.rest -= int64(len(body))
			b = b[len(body):]
			continue
		}
		if g.head = append(g.head, b[0]); len(g.head) == 5 {
			g.kind = g.head[0]
			g.ready = g.ready || g.kind == 'Z'
			g.rest, g.head = int64(binary.BigEndian.Uint32(g.head[1:]))-4, g.head[:0]
		}
		b = b[1:]
	}
	return n, err
}
