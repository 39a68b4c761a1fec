package config

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// Clock is the program's clock: the machine's clock, or one that INGEST_NOW has set to another time and that runs on.
// A moved clock is accepted only with a loopback upstream and the SQLite ledger, so it never affects a real quota.
type Clock struct {
	offset atomic.Int64 // nanoseconds
	Moved  bool
}

// NewClock returns the clock that INGEST_NOW asks for, or the machine's if it is not set.
func NewClock() (*Clock, error) {
	c := &Clock{}
	s := os.Getenv("INGEST_NOW")
	if s == "" {
		return c, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return nil, Invalid(fmt.Errorf("INGEST_NOW=%q is not an RFC 3339 time such as 2026-11-01T00:00:00Z", s))
	}
	c.Move(t)
	return c, nil
}

// Move sets the clock, which runs on from there.
func (c *Clock) Move(t time.Time) {
	c.offset.Store(int64(time.Until(t)))
	c.Moved = true
}

// Restore sets the clock to the machine's time again.
func (c *Clock) Restore() {
	c.offset.Store(0)
	c.Moved = false
}

// Now returns the time, without a monotonic reading.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())).Round(0) }
