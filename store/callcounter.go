package store

import (
	"context"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
)

// saveCallsWithin bounds how long the end of a run waits for its counts to be saved.
const saveCallsWithin = 300 * time.Millisecond

// CallCounter counts calls to the upstream and saves the counts in the store, where a scrape finds them after this
// process has ended. Counts that cannot be saved wait for the next Save, and no call fails.
type CallCounter struct {
	store *Store

	mu      sync.Mutex
	pending ingest.Calls // not saved yet
}

// NewCallCounter returns an empty counter for a store.
func NewCallCounter(s *Store) *CallCounter { return &CallCounter{store: s, pending: ingest.Calls{}} }

// Observe counts one call.
func (c *CallCounter) Observe(method, verdict string, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending.Add(method, verdict, took)
}

// Save writes to the store what was counted since the last Save.
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

// SaveLast is Save with a timeout, for a process's end.
func (c *CallCounter) SaveLast() {
	ctx, cancel := context.WithTimeout(context.Background(), saveCallsWithin)
	defer cancel()
	c.Save(ctx)
}

// Total returns all calls since the store was created.
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
