package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
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
	pending ingest.CallStats // not saved yet
}

// NewCallCounter returns an empty counter for a store.
func NewCallCounter(s *Store) *CallCounter {
	return &CallCounter{store: s, pending: ingest.CallStats{}}
}

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
	c.pending = ingest.CallStats{}
	c.mu.Unlock()
	if len(more) == 0 || c.store.AddCallStats(ctx, more) == nil {
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
func (c *CallCounter) Total(ctx context.Context) (ingest.CallStats, error) {
	stats, err := c.store.CallStats(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	stats.Merge(c.pending)
	return stats, nil
}

// CallStats returns the totals of calls to the upstream since the store was created, as saved by AddCallStats.
func (s *Store) CallStats(ctx context.Context) (ingest.CallStats, error) {
	stats, err := readCallStats(ctx, s.read)
	return stats, s.explain(ctx, "read how calls were answered", err)
}

// AddCallStats adds a process's calls to the upstream to the totals, which outlive the process.
func (s *Store) AddCallStats(ctx context.Context, more ingest.CallStats) error {
	return s.tx(ctx, "keep how calls were answered", func(tx *txn) error {
		stats, err := readCallStats(ctx, tx)
		if err != nil {
			return err
		}
		stats.Merge(more)
		text, err := json.Marshal(stats)
		if err == nil {
			_, err = tx.ExecContext(ctx, `INSERT INTO meta (name, value) VALUES ('calls', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, string(text))
		}
		return err
	})
}

func readCallStats(ctx context.Context, q querier) (ingest.CallStats, error) {
	var text string
	err := q.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = 'calls'`).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return ingest.CallStats{}, nil
	}
	stats := ingest.CallStats{}
	if err == nil {
		err = json.Unmarshal([]byte(text), &stats)
	}
	return stats, err
}
