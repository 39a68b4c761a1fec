package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

// SlotFilter says which slots to list. A zero field excludes nothing, except that pieces of a backfill are
// listed only by its Job.
type SlotFilter struct {
	Since, Until time.Time // due within [Since, Until)
	State        ingest.State
	Job          string
	Key          string // the region's code for a chart
	Limit        int    // at most this many; 0: all
}

// ListSlots lists slots, newest first; those due at the same time by job and key.
func (s *Store) ListSlots(ctx context.Context, f SlotFilter) ([]ingest.Slot, error) {
	var where []string
	var args []any
	and := func(set bool, condition string, arg any) {
		if set {
			where, args = append(where, condition), append(args, arg)
		}
	}
	and(!f.Since.IsZero(), `due_at >= ?`, ceilUnix(f.Since))
	and(!f.Until.IsZero(), `due_at < ?`, ceilUnix(f.Until))
	and(f.State != "", `state = ?`, f.State)
	and(f.Job != "", `job = ?`, f.Job)
	and(f.Key != "", `key = ?`, f.Key)
	if _, ok := ingest.IsBackfillJob(f.Job); !ok {
		where = append(where, `kind <> 'backfill'`) // as the index says it
	}
	query := selectSlots
	if len(where) > 0 {
		query += ` WHERE ` + strings.Join(where, ` AND `)
	}
	query += ` ORDER BY due_at DESC, job, key`
	if f.Limit > 0 {
		query += ` LIMIT ?`
		args = append(args, f.Limit)
	}
	var slots []ingest.Slot
	err := s.view(ctx, "list the slots", func(tx *txn) error {
		return each(ctx, tx, func(rows *sql.Rows) error {
			slot, err := scanSlot(rows)
			slots = append(slots, slot)
			return err
		}, query, args...)
	})
	return slots, err
}

const selectSlots = `
SELECT job, key, due_at, kind, state, owner, attempt, lease, token, token_at, pages, videos, units, charges, reason, retry_at, fetched_at, tries
FROM slots JOIN series ON series.id = slots.series`

// scanSlot reads a row of selectSlots.
func scanSlot(r interface{ Scan(...any) error }) (ingest.Slot, error) {
	var s ingest.Slot
	var due int64
	var lease, token, retry, fetched sql.NullInt64
	var charges sql.NullString
	err := r.Scan(&s.Job, &s.Key, &due, &s.Kind, &s.State, &s.Owner, &s.Attempt, &lease, &s.Token, &token,
		&s.Pages, &s.Videos, &s.Units, &charges, &s.Reason, &retry, &fetched, &s.Tries)
	s.DueAt, s.Charges = time.Unix(due, 0).UTC(), readCharges(charges)
	s.Lease, s.TokenAt, s.RetryAt, s.FetchedAt = fromMillis(lease), fromMillis(token), fromMillis(retry), fromMillis(fetched)
	return s, err
}

// writeCharges is slots.charges of a slot.
func writeCharges(charges map[string]int64) (sql.NullString, error) {
	if len(charges) == 0 {
		return sql.NullString{}, nil
	}
	text, err := json.Marshal(charges)
	return sql.NullString{String: string(text), Valid: true}, err
}

// readCharges is the reverse. What is damaged is not known.
func readCharges(text sql.NullString) (charges map[string]int64) {
	if !text.Valid || json.Unmarshal([]byte(text.String), &charges) != nil {
		return nil
	}
	return charges
}
