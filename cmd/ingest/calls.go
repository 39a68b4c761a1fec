package main

import (
	"context"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// saveCallsWithin bounds how long the end of a run waits for its counts to be kept.
const saveCallsWithin = 300 * time.Millisecond

// callCounter counts what the upstream is asked, and keeps it in the store, where a scrape finds it when this process is
// gone. A count that cannot be kept is tried again with the next; it fails nothing.
type callCounter struct {
	store *store.Store

	mu      sync.Mutex
	pending ingest.Calls // not kept yet
}

func (c *callCounter) observe(method, verdict string, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending.Add(method, verdict, took)
}

func (c *callCounter) save(ctx context.Context) {
	c.mu.Lock()
	more := c.pending
	c.pending = ingest.Calls{}
	c.mu.Unlock()
	if len(more) == 0 || c.store.AddCalls(ctx, more) == nil {
		return
	}
	c.mu.Lock()
	c.pending.Merge(more)
	c.mu.Unlock()
}

// saveLast is save at the end of a process.
func (c *callCounter) saveLast() {
	ctx, cancel := context.WithTimeout(context.Background(), saveCallsWithin)
	defer cancel()
	c.save(ctx)
}

// total is what was asked since the store was made.
func (c *callCounter) total(ctx context.Context) (ingest.Calls, error) {
	calls, err := c.store.Calls(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	calls.Merge(c.pending)
	return calls, nil
}
