package postgres

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"sync/atomic"

	"github.com/trendvidstream/ingest/internal/hide"
)

// maxGreeting bounds a server's messages before it is ready for a query, in bytes: the client keeps every setting of
// it. Usual are some hundreds.
const maxGreeting = 1 << 20

// maxAnswer bounds its answer to one query, in bytes. The longest answer that we ask for is a month of a region's
// charts.
const maxAnswer = 64 << 20

var (
	errGreeting = errors.New("the server says more than any PostgreSQL before it is ready: see whether it is one")
	errAnswer   = errors.New("the server's answer is longer than any that was asked for: see whether it is a PostgreSQL")
)

// bounded is a connection to a server. It fails at the header of a message that exceeds the bound, and masks the
// password in errors and notices.
// https://www.postgresql.org/docs/current/protocol-overview.html#PROTOCOL-MESSAGE-CONCEPTS
type bounded struct {
	from     io.Reader
	to       io.Writer
	password string

	head  []byte // of a message: its kind and its length, as far as they came
	kind  byte
	rest  int64       // of its body
	said  int64       // since the server was last ready for a query
	ready bool        // at least once
	asked atomic.Bool // since it was last ready
	held  []byte      // the end of the data, if a part of the password may begin there
	stars []byte      // the same, masked
}

// Write implements io.Writer.
func (c *bounded) Write(p []byte) (int, error) {
	c.asked.Store(true)
	return c.to.Write(p)
}

// Read implements io.Reader.
func (c *bounded) Read(p []byte) (n int, err error) {
	for n == 0 && err == nil && len(p) > 0 {
		n = copy(p, c.held)
		stars := c.stars[:n]
		c.held, c.stars = c.held[n:], c.stars[n:]
		if n < len(p) {
			var more int
			more, err = c.from.Read(p[n:])
			n += more
		}
		held := c.follow(p[:n], err != nil || len(p) < hide.Piece)
		for i, b := range stars {
			if b == '*' {
				p[i] = b
			}
		}
		if n -= len(held); len(held) > 0 {
			c.held, c.stars = held, bytes.Clone(p[n:n+len(held)])
		}
		switch {
		case !c.ready && c.said > maxGreeting:
			return 0, errGreeting
		case c.said > maxAnswer:
			return 0, errAnswer
		}
	}
	return n, err
}

// follow reads along and masks the password. It returns the end of the data, unmasked, if a part of the password may
// begin there and go on in the next data.
func (c *bounded) follow(b []byte, last bool) (held []byte) {
	for len(b) > 0 {
		if c.rest <= 0 {
			if c.head = append(c.head, b[0]); len(c.head) == 5 {
				c.begin(c.head[0], int64(binary.BigEndian.Uint32(c.head[1:]))-4)
				c.head = c.head[:0]
			}
			b = b[1:]
			continue
		}
		body := b[:min(c.rest, int64(len(b)))]
		if c.kind == 'E' || c.kind == 'N' {
			if int64(len(body)) < c.rest && !last {
				held = bytes.Clone(body[max(len(body)-hide.Piece+1, 0):])
			}
			hide.In(body, c.password)
		}
		b = b[len(body):]
		c.rest -= int64(len(body) - len(held))
	}
	return held
}

// begin begins a message. Messages that arrive without a question are notifications, as many as there are.
func (c *bounded) begin(kind byte, length int64) {
	c.kind, c.rest = kind, length
	switch {
	case kind == 'Z':
		c.said, c.ready = 0, true
		c.asked.Store(false)
	case kind == 'A' && c.ready && !c.asked.Load():
	case c.ready && (kind == 'A' || kind == 'S'): // which the client keeps, though they are no answer
		c.said += maxAnswer / maxGreeting * (5 + length)
	default:
		c.said += 5 + length
	}
}
