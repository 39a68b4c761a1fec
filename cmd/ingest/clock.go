package main

import (
	"fmt"
	"os"
	"time"
)

// clock is the program's clock: the machine's, or one that INGEST_NOW has moved and that runs on
// from there. A moved clock never meets a quota that counts: only a loopback upstream and the SQLite
// ledger take it.
type clock struct {
	offset time.Duration
	moved  bool
}

func newClock() (clock, error) {
	s := os.Getenv("INGEST_NOW")
	if s == "" {
		return clock{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return clock{}, badConfig(fmt.Errorf("INGEST_NOW=%q is not an RFC 3339 time such as 2026-11-01T00:00:00Z", s))
	}
	return clock{offset: time.Until(t), moved: true}, nil
}

func (c clock) now() time.Time { return time.Now().Add(c.offset).Round(0) }
