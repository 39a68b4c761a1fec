package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

// AddDue implements fetch.Slots. It writes only when there is something to add.
func (s *Store) AddDue(ctx context.Context, slots []ingest.Slot) error {
	if len(slots) == 0 {
		return nil
	}
	return s.tx(ctx, "add slots", func(tx *txn) error {
		a, err := newAddition(ctx, tx, slots, s.now())
		if err != nil {
			return err
		}
		if err := a.forgetAhead(ctx, tx, s.now()); err != nil {
			return err
		}
		return a.write(ctx, tx, s.now())
	})
}

// newestAt is the due time of a series' newest slot that is not in the future, NULL if there is none; ?1 is
// future(now).
const newestAt = `iif(newest <= ?1, newest, (SELECT max(due_at) FROM slots AS past WHERE past.series = series.id
	AND past.due_at <= ?1))`

// future returns the last second that is not yet in the future.
func future(now time.Time) int64 { return now.Add(ingest.ClockAhead).Unix() }

// Newest implements fetch.Slots.
func (s *Store) Newest(ctx context.Context, now time.Time) (map[ingest.Series]time.Time, error) {
	newest := map[ingest.Series]time.Time{}
	return newest, s.view(ctx, "read the slots", func(tx *txn) error {
		return each(ctx, tx, func(rows *sql.Rows) error {
			var key ingest.Series
			var due time.Time
			err := rows.Scan(&key.Job, &key.Key, inSeconds(&due))
			newest[key] = due
			return err
		}, `SELECT job, key, at FROM (SELECT job, key, `+newestAt+
			` AS at FROM series WHERE backfill IS NULL) AS known WHERE at IS NOT NULL`, future(now))
	})
}

// latestSlots selects from every series the newest done slot, the newest with any outcome and the newest open one, due
// at ?1 or earlier, without reading any other.
const latestSlots = selectSlots + `
WHERE slots.id IN (
	SELECT (SELECT id FROM slots AS d WHERE d.series = known.id AND d.state = 'done' AND d.due_at <= ?1
		ORDER BY d.due_at DESC LIMIT 1)
	FROM series AS known WHERE known.backfill IS NULL
	UNION ALL
	SELECT (SELECT id FROM slots AS e WHERE e.series = known.id AND e.state NOT IN ('due', 'claimed') AND e.due_at <= ?1
		ORDER BY e.due_at DESC LIMIT 1)
	FROM series AS known WHERE known.backfill IS NULL
	UNION ALL
	SELECT (SELECT id FROM slots AS o WHERE o.series = known.id AND o.due_at = known.open
		AND o.state IN ('due', 'claimed') AND o.due_at <= ?1)
	FROM series AS known WHERE known.backfill IS NULL)
ORDER BY due_at`

// Latest returns the newest slots of every series that are not in the future.
func (s *Store) Latest(ctx context.Context, now time.Time) (ingest.Latest, error) {
	return viewed(ctx, s.database, "read the slots", func(tx *txn) (l ingest.Latest, err error) {
		if l, err = latest(ctx, tx, now); err == nil {
			l.Hooks, err = s.hooksIn(ctx, tx)
		}
		return l, err
	})
}

func latest(ctx context.Context, q querier, now time.Time) (ingest.Latest, error) {
	slots, err := collect(ctx, q, scanSlot, latestSlots, future(now))
	l := ingest.Latest{Done: map[ingest.Series]ingest.Slot{}, Ended: map[ingest.Series]ingest.Slot{},
		Open: map[ingest.Series]ingest.Slot{}}
	for _, slot := range slots {
		switch slot.State {
		case ingest.Due, ingest.Claimed:
			l.Open[slot.Series()] = slot
			continue
		case ingest.Done:
			l.Done[slot.Series()] = slot
		case ingest.Stopped, ingest.Failed, ingest.Skipped, ingest.Missed:
		}
		l.Ended[slot.Series()] = slot
	}
	for series, slot := range l.Done {
		if err == nil && slot.Short() {
			var short ingest.Shortage
			if short, err = shortage(ctx, q, series, future(now)); l.Short == nil {
				l.Short = map[ingest.Series]ingest.Shortage{}
			}
			l.Short[series] = short
		}
	}
	return l, err
}

// whole is a condition on a done slot, the contrary of ingest.Slot.Short.
const whole = `(kind <> 'chart' OR videos > 0 AND videos * 3 >= usual)`

// shortage finds since when the done slots of a series up to a second are short.
func shortage(ctx context.Context, q querier, series ingest.Series, until int64) (short ingest.Shortage, err error) {
	const done = selectSlots + ` WHERE job = ? AND key = ? AND state = 'done' AND due_at <= ?`
	slots, err := collect(ctx, q, scanSlot, done+` AND `+whole+` ORDER BY due_at DESC LIMIT 1`,
		series.Job, series.Key, until)
	if len(slots) > 0 {
		short.Whole = slots[0]
	}
	if err == nil {
		slots, err = collect(ctx, q, scanSlot, done+` AND due_at > ? ORDER BY due_at LIMIT 1`,
			series.Job, series.Key, until, short.Whole.DueAt.Unix())
	}
	if len(slots) > 0 {
		short.Since = slots[0]
	}
	return short, err
}

// retired selects the open slots that no run is working on at ?2 (milliseconds), of the series in ?1, a JSON array of
// [job, key, reason].
const retired = `
WITH retired AS MATERIALIZED (
	SELECT slots.id, series, value ->> 2 AS reason
	FROM json_each(?1) AS given CROSS JOIN series ON job = value ->> 0 AND series.key = value ->> 1
	JOIN slots ON series = series.id AND due_at = open
	WHERE state <> 'claimed' OR lease <= ?2
)
`

// Retire implements fetch.Slots. It writes only when there is something to end.
func (s *Store) Retire(ctx context.Context, gone map[ingest.Series]string) error {
	rows := make([][3]string, 0, len(gone))
	for series, reason := range gone {
		rows = append(rows, [3]string{series.Job, series.Key, reason})
	}
	list, now := listJSON(rows), s.now().UnixMilli()
	var found bool
	err := s.read.QueryRowContext(ctx, retired+`SELECT EXISTS (SELECT 1 FROM retired)`, list, now).Scan(&found)
	if err != nil || !found {
		return s.explain(ctx, "look for unwanted slots", err)
	}
	return s.tx(ctx, "end the unwanted slots", func(tx *txn) error {
		// This comes first because retired finds series by their open slots.
		series, err := column[int64](ctx, tx, retired+`SELECT series FROM retired`, list, now)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, retired+`
			UPDATE slots SET state = 'skipped', lease = NULL, retry_at = NULL, reason = retired.reason
			FROM retired WHERE slots.id = retired.id AND slots.state <> 'stopped'`, list, now); err != nil {
			return err
		}
		return execJSON(ctx,
			tx, `UPDATE series SET open = NULL WHERE id IN (SELECT CAST(value AS bigint) FROM json_each(?1))`, series)
	})
}

// ForgetStops clears the waiting times of stopped slots, after their ledger was reset; why becomes their reason.
func (s *Store) ForgetStops(ctx context.Context, why string) error {
	return s.tx(ctx, "clear the waits of stopped slots", func(tx *txn) error {
		_, err := tx.ExecContext(ctx,
			`UPDATE slots SET retry_at = NULL, reason = ? WHERE state = 'stopped' AND retry_at IS NOT NULL`, why)
		return err
	})
}

// SlotFilter selects slots. A zero field excludes nothing, but pieces of a backfill are listed only by their Job. A
// row of missed ticks is listed by the last of them.
type SlotFilter struct {
	Since, Until time.Time // due within [Since, Until); a row of missed ticks counts only those since Since
	State        ingest.State
	Job          string
	Key          string // the region's code for a chart
	Limit        int    // at most this many; 0: all
	Lacking      bool   // also pieces of backfills that brought less than the upstream has
}

// NewestDone returns the newest n of a job's slots that are done.
func (s *Store) NewestDone(ctx context.Context, job string, n int) ([]ingest.Slot, error) {
	return s.ListSlots(ctx, SlotFilter{Job: job, State: ingest.Done, Limit: n})
}

// DueSince returns a job's slots that were due at since or later.
func (s *Store) DueSince(ctx context.Context, job string, since time.Time) ([]ingest.Slot, error) {
	return s.ListSlots(ctx, SlotFilter{Job: job, Since: since})
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
	if f.Limit > 0 && f.Job == "" && f.Key == "" {
		query = newestSlots
	}
	if len(where) > 0 {
		query += ` WHERE ` + strings.Join(where, ` AND `)
	}
	query += ` ORDER BY due_at DESC, job, key`
	if f.Limit > 0 {
		query += ` LIMIT ?`
		args = append(args, f.Limit)
	}
	slots, err := collectView(ctx, s.database, "list the slots", scanSlot, query, args...)
	if err == nil && f.Lacking && f.Job == "" && f.Key == "" && (f.State == "" || f.State == ingest.Done) {
		slots, err = s.addLacking(ctx, slots, f)
	}
	for i, slot := range slots {
		if slot.Count > 1 {
			slots[i] = slot.TicksSince(f.Since)
		}
	}
	return slots, err
}

// lackingPieces is a condition on slots: pieces of backfills that brought less than the upstream has.
const lackingPieces = `kind = 'backfill' AND state = 'done' AND slots.id IN (SELECT slot FROM pieces WHERE ` +
	lacks + `) AND due_at >= ?`

// addLacking adds such pieces to a list of slots.
func (s *Store) addLacking(ctx context.Context, slots []ingest.Slot, f SlotFilter) ([]ingest.Slot, error) {
	pieces, err := collectView(ctx, s.database, "list the pieces that lack something", scanSlot,
		selectSlots+` WHERE `+lackingPieces+` ORDER BY due_at DESC, job, key`, ceilUnix(f.Since))
	pieces = slices.DeleteFunc(pieces, func(p ingest.Slot) bool { return !f.Until.IsZero() && !p.DueAt.Before(f.Until) })
	slots = append(slots, pieces...)
	slices.SortStableFunc(slots, func(a, b ingest.Slot) int { return b.DueAt.Compare(a.DueAt) })
	if f.Limit > 0 && len(slots) > f.Limit {
		slots = slots[:f.Limit]
	}
	return slots, err
}

const selectSlots = `
SELECT job, key, due_at, kind, state, owner, attempt, lease, token, token_at, pages, videos, units, reason, retry_at,
	fetched_at, tries, charges, emergency,
       usual, count, first_due_at
FROM slots JOIN series ON series.id = slots.series`

// newestSlots is selectSlots for the newest slots of all series: it reads slots by due time, no more than are listed.
var newestSlots = strings.Replace(selectSlots, "slots JOIN series", "slots CROSS JOIN series", 1)

// spentPieces is selectSlots for pieces that spent quota. It begins with the series of backfills, so that it reads no
// scheduled slot.
var spentPieces = strings.Replace(selectSlots, "slots JOIN series", "series CROSS JOIN slots", 1) + `
WHERE series.backfill IS NOT NULL AND kind = 'backfill' AND units > 0 AND coalesce(fetched_at, due_at * 1000) >= ?`

func scanSlot(row scanner) (ingest.Slot, error) {
	var s ingest.Slot
	var charges, emergency sql.NullString
	err := row.Scan(&s.Job, &s.Key, inSeconds(&s.DueAt), &s.Kind, &s.State, &s.Owner, &s.Attempt, inMillis(&s.Lease),
		&s.Token, inMillis(&s.TokenAt), &s.Pages, &s.Videos, &s.Units, &s.Reason, inMillis(&s.RetryAt),
		inMillis(&s.FetchedAt),
		&s.Tries, &charges, &emergency, &s.Usual, &s.Count, inSeconds(&s.FirstDueAt))
	if s.Count <= 1 {
		s.Count = 0
	}
	if charges.Valid && json.Unmarshal([]byte(charges.String), &s.Charges) != nil {
		s.Charges = nil // damaged
	}
	if emergency.Valid && json.Unmarshal([]byte(emergency.String), &s.Emergency) != nil {
		s.Emergency = nil // damaged: the ledger is held against all of Charges
	}
	return s, err
}
