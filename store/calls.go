package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/trendvidstream/ingest"
)

// Calls returns the totals of calls to the upstream since the store was created, as saved by AddCalls.
func (s *Store) Calls(ctx context.Context) (ingest.Calls, error) {
	calls, err := readCalls(ctx, s.read)
	return calls, s.explain(ctx, "read how calls were answered", err)
}

// AddCalls adds a process's calls to the upstream to the totals, which outlive the process.
func (s *Store) AddCalls(ctx context.Context, more ingest.Calls) error {
	return s.tx(ctx, "keep how calls were answered", func(tx *txn) error {
		calls, err := readCalls(ctx, tx)
		if err != nil {
			return err
		}
		calls.Merge(more)
		text, err := json.Marshal(calls)
		if err == nil {
			_, err = tx.ExecContext(ctx, `INSERT INTO meta (name, value) VALUES ('calls', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, string(text))
		}
		return err
	})
}

func readCalls(ctx context.Context, q querier) (ingest.Calls, error) {
	var text string
	err := q.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = 'calls'`).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return ingest.Calls{}, nil
	}
	calls := ingest.Calls{}
	if err == nil {
		err = json.Unmarshal([]byte(text), &calls)
	}
	return calls, err
}
