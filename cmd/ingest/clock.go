package main

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// clock is the program's clock: the machine's, or one that INGEST_NOW has moved and that runs on
// from there. A moved clock never meets a quota that counts: only a loopback upstream and the SQLite
// ledger take it.
type clock struct {
	offset atomic.Int64 // nanoseconds
	moved  bool
}

func newClock() (*clock, error) {
	c := &clock{}
	s := os.Getenv("INGEST_NOW")
	if s == "" {
		return c, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return nil, badConfig(fmt.Errorf("INGEST_NOW=%q is not an RFC 3339 time such as 2026-11-01T00:00:00Z", s))
	}
	c.move(t)
	return c, nil
}

// move sets the clock; it runs on from there.
func (c *clock) move(t time.Time) {
	c.offset.Store(int64(time.Until(t)))
	c.moved = true
}

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())).Round(0) }
