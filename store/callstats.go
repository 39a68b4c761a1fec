package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
)

// saveCallsWithin bounds how long a run's end waits for its counts to be saved.
const saveCallsWithin = 300 * time.Millisecond

// CallCounter counts calls to the upstream and saves the counts in the store, for scrapes after this process has
// ended. Counts that cannot be saved wait for the next Save; no call fails because of them.
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
	c.pending.Add(method, verdict, took, c.store.now().UTC())
}

// Repeat counts one call that the gateway answered without asking the upstream; day is a day of the upstream.
func (c *CallCounter) Repeat(method, day string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending.Repeat(method, day)
}

// Save saves the counts since the last Save.
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
	return stats, s.explain(ctx, "read the counts of calls", err)
}

// AddCallStats adds one process's upstream calls to the totals in the store, which outlive the process.
func (s *Store) AddCallStats(ctx context.Context, more ingest.CallStats) error {
	return s.tx(ctx, "save the counts of calls", func(tx *txn) error {
		stats, err := readCallStats(ctx, tx)
		if err != nil {
			return err
		}
		for method, known := range stats {
			known.Contact = known.Contact.NotAfter(s.now().Add(ingest.ClockAhead))
			stats[method] = known
		}
		stats.Merge(more)
		return writeNote(ctx, tx, "calls", asJSON{stats})
	})
}

func readCallStats(ctx context.Context, q querier) (ingest.CallStats, error) {
	stats := ingest.CallStats{}
	err := readNote(ctx, q, "calls", asJSON{&stats})
	return stats, err
}

// Note returns the text that SetNote stored under a name; "" if there is none.
func (s *Store) Note(ctx context.Context, name string) (text string, err error) {
	err = readNote(ctx, s.read, "note "+name, &text)
	return text, s.explain(ctx, "read the note "+name, err)
}

// SetNote stores a text under a name and replaces an earlier one.
func (s *Store) SetNote(ctx context.Context, name, text string) error {
	return s.tx(ctx, "keep the note "+name, func(tx *txn) error { return writeNote(ctx, tx, "note "+name, text) })
}

// readNote reads a row of meta into value; without a row, value is unchanged.
func readNote(ctx context.Context, q querier, name string, value any) error {
	err := q.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = ?`, name).Scan(value)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return err
}

func writeNote(ctx context.Context, tx *txn, name string, value any) error {
	_, err := tx.ExecContext(ctx,
		`INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
	return err
}
