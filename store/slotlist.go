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
// listed only by its Job. A row of missed ticks is listed by the last of them.
type SlotFilter struct {
	Since, Until time.Time // due within [Since, Until); of a row of missed ticks, those since then are counted
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
		where = append(where, `kind <> 'backfill'`) // the condition of slots_due
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
	slots, err := collectView(ctx, s.database, "list the slots", scanSlot, query, args...)
	for i, slot := range slots {
		if slot.Count > 1 {
			slots[i] = slot.TicksSince(f.Since)
		}
	}
	return slots, err
}

const selectSlots = `
SELECT job, key, due_at, kind, state, owner, attempt, lease, token, token_at, pages, videos, units, reason, retry_at, fetched_at, tries, charges,
       count, first_due_at
FROM slots JOIN series ON series.id = slots.series`

// scanSlot reads a row of selectSlots.
func scanSlot(row scanner) (ingest.Slot, error) {
	var s ingest.Slot
	var charges sql.NullString
	err := row.Scan(&s.Job, &s.Key, inSeconds(&s.DueAt), &s.Kind, &s.State, &s.Owner, &s.Attempt, inMillis(&s.Lease),
		&s.Token, inMillis(&s.TokenAt), &s.Pages, &s.Videos, &s.Units, &s.Reason, inMillis(&s.RetryAt), inMillis(&s.FetchedAt),
		&s.Tries, &charges, &s.Count, inSeconds(&s.FirstDueAt))
	if s.Count <= 1 {
		s.Count = 0
	}
	if charges.Valid && json.Unmarshal([]byte(charges.String), &s.Charges) != nil {
		s.Charges = nil // damaged, so not known
	}
	return s, err
}
