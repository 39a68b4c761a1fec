package store

import (
	"context"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
)

// saveCallsWithin bounds how long the end of a run waits for its counts to be kept.
const saveCallsWithin = 300 * time.Millisecond

// CallCounter counts what the upstream is asked, and keeps it in the store, where a scrape finds it when this process is
// gone. A count that cannot be kept is tried again with the next; it fails nothing.
type CallCounter struct {
	store *Store

	mu      sync.Mutex
	pending ingest.Calls // not kept yet
}

// NewCallCounter counts for a store, nothing yet.
func NewCallCounter(s *Store) *CallCounter { return &CallCounter{store: s, pending: ingest.Calls{}} }

// Observe counts one call.
func (c *CallCounter) Observe(method, verdict string, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending.Add(method, verdict, took)
}

// Save keeps in the store what was counted since the last time.
func (c *CallCounter) Save(ctx context.Context) {
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

// SaveLast is Save at the end of a process.
func (c *CallCounter) SaveLast() {
	ctx, cancel := context.WithTimeout(context.Background(), saveCallsWithin)
	defer cancel()
	c.Save(ctx)
}

// Total is what was asked since the store was made.
func (c *CallCounter) Total(ctx context.Context) (ingest.Calls, error) {
	calls, err := c.store.Calls(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	calls.Merge(c.pending)
	return calls, nil
}
