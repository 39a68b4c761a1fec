package store

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
)

// addition holds the rows that AddDue adds, with a fixed number of statements for any number of slots.
type addition struct {
	slots  []ingest.Slot
	series map[ingest.Series]*series
}

// series is a row of the table series, and the changes to it.
type series struct {
	ingest.Series
	id     int64  // 0: new
	newest int64  // due time of its newest slot; never if it has none
	open   *int64 // due time of its slot that is or may be claimed

	last int64 // newest, including the slots to add
	next int64 // due time of the slot to claim among those to add; never if there is none
}

const never = math.MinInt64

// newAddition finds the slot to claim in each series: the newest due one to add, if it is newer than the stored ones.
func newAddition(ctx context.Context, tx *txn, slots []ingest.Slot, now time.Time) (*addition, error) {
	a := &addition{slots, map[ingest.Series]*series{}}
	for _, slot := range slots {
		key := slot.Series()
		if a.series[key] == nil {
			a.series[key] = &series{Series: key, newest: never, last: never, next: never}
		}
	}
	if err := a.find(ctx, tx, now); err != nil {
		return nil, err
	}
	for _, slot := range slots {
		s, due := a.series[slot.Series()], slot.DueAt.Unix()
		s.last = max(s.last, due)
		if slot.State == ingest.Due && due > s.newest {
			s.next = max(s.next, due)
		}
	}
	return a, nil
}

// find reads the rows of the series that exist.
func (a *addition) find(ctx context.Context, tx *txn, now time.Time) error {
	names := [][2]string{}
	for key := range a.series {
		names = append(names, [2]string{key.Job, key.Key})
	}
	return each(ctx, tx, func(rows *sql.Rows) error {
		row := series{newest: never, next: never}
		var newest *int64
		if err := rows.Scan(&row.Job, &row.Key, &row.id, &newest, &row.open); err != nil {
			return err
		}
		if newest != nil {
			row.newest = *newest
		}
		row.last = row.newest
		if s := a.series[row.Series]; s != nil {
			*s = row
		}
		return nil
	}, `
		SELECT job, series.key, series.id, `+newestAt+`, open
		FROM json_each(?2) AS given CROSS JOIN series ON job = value ->> 0 AND series.key = value ->> 1`,
		future(now), listJSON(names))
}

// recorded is a condition: the store has a slot of the series and due time at the start of the JSON array value,
// perhaps within a row of missed ticks.
const recorded = `EXISTS (
	SELECT 1 FROM (
		SELECT coalesce(first_due_at, due_at) AS since FROM slots
		WHERE series = CAST(value ->> 0 AS bigint) AND due_at >= CAST(value ->> 1 AS bigint) ORDER BY due_at LIMIT 1
	) AS next WHERE since <= CAST(value ->> 1 AS bigint))`

// write adds the missing series and slots. If no slot is missing, it stops there.
func (a *addition) write(ctx context.Context, tx *txn, now time.Time) error {
	if err := a.addSeries(ctx, tx); err != nil {
		return err
	}
	if n, err := a.addSlots(ctx, tx); err != nil || n == 0 {
		return err
	}
	if err := a.moveSeries(ctx, tx); err != nil {
		return err
	}
	return supersedeClaims(ctx, tx, now)
}

func (a *addition) addSeries(ctx context.Context, tx *txn) error {
	var rows [][3]any
	for _, s := range a.series {
		if s.id == 0 {
			rows = append(rows, [3]any{s.Job, s.Key, s.last})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return each(ctx, tx, func(rows *sql.Rows) error {
		var key ingest.Series
		var id int64
		err := rows.Scan(&id, &key.Job, &key.Key)
		a.series[key].id = id
		return err
	}, `INSERT INTO series (job, key, newest) SELECT value ->> 0, value ->> 1, CAST(value ->> 2 AS bigint)
		FROM json_each(?1) RETURNING id, job, key`, listJSON(rows))
}

// addSlots adds the missing slots and returns their number. A due slot with a newer one in its series is added as
// skipped.
func (a *addition) addSlots(ctx context.Context, tx *txn) (int, error) {
	var rows [][7]any
	for _, slot := range a.folded() {
		s, due, state, reason := a.series[slot.Series()], slot.DueAt.Unix(), slot.State, slot.Reason
		if state == ingest.Due && (s.next == never || due < s.next) {
			state, reason = ingest.Skipped, superseded(s.last)
		}
		var first any
		if slot.Count > 1 {
			first = slot.FirstDueAt.Unix()
		}
		rows = append(rows, [7]any{s.id, due, slot.Kind, state, reason, max(slot.Count, 1), first})
	}
	return affected(tx.ExecContext(ctx, `
		INSERT INTO slots (series, due_at, kind, state, reason, count, first_due_at)
		SELECT CAST(value ->> 0 AS bigint), CAST(value ->> 1 AS bigint), value ->> 2, value ->> 3, value ->> 4,
		       CAST(value ->> 5 AS bigint), CAST(value ->> 6 AS bigint)
		FROM json_each(?1) WHERE NOT `+recorded+`
		ON CONFLICT DO NOTHING`, listJSON(rows)))
}

// folded merges consecutive missed ticks into one slot. Only ticks newer than all stored slots are certain to be
// consecutive.
func (a *addition) folded() []ingest.Slot {
	slots := slices.SortedStableFunc(slices.Values(a.slots), func(a, b ingest.Slot) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Key, b.Key), a.DueAt.Compare(b.DueAt))
	})
	var out []ingest.Slot
	for _, slot := range slots {
		if n := len(out); n > 0 && a.inRow(out[n-1], slot) {
			last := &out[n-1]
			if last.Count == 0 {
				last.Count, last.FirstDueAt = 1, last.DueAt
			}
			last.Count, last.DueAt = last.Count+1, slot.DueAt
			continue
		}
		out = append(out, slot)
	}
	return out
}

// inRow reports whether a missed tick follows another, for the same reason.
func (a *addition) inRow(last, next ingest.Slot) bool {
	missed := last.State == ingest.Missed && next.State == ingest.Missed
	alike := last.Series() == next.Series() && last.Kind == next.Kind && last.Reason == next.Reason
	return missed && alike && last.DueAt.Before(next.DueAt) && last.DueAt.Unix() > a.series[last.Series()].newest
}

// moveSeries makes the new slots the ones to claim, and skips the slots that were due before them. A running claim
// continues, and a stopped slot keeps its outcome and reason.
func (a *addition) moveSeries(ctx context.Context, tx *txn) error {
	var rows [][5]any
	byID := func(a, b *series) int { return cmp.Compare(a.id, b.id) } // table order, which is fast
	for _, s := range slices.SortedFunc(maps.Values(a.series), byID) {
		row := [5]any{s.id, s.last}
		if s.next != never {
			row[2], row[3], row[4] = s.next, superseded(s.next), s.open
		}
		rows = append(rows, row)
	}
	return execEach(ctx, tx, rows, `
		UPDATE slots SET state = 'skipped', reason = value ->> 3
		FROM json_each(?1) WHERE series = CAST(value ->> 0 AS bigint) AND due_at = CAST(value ->> 4 AS bigint)
			AND state = 'due'`, `
		UPDATE series
			SET newest = max(newest, CAST(value ->> 1 AS bigint)), open = coalesce(CAST(value ->> 2 AS bigint), open)
		FROM json_each(?1) WHERE series.id = CAST(value ->> 0 AS bigint)`)
}

// superseded is the reason of a slot that ends because its series has moved on to the slot due at due.
func superseded(due int64) string {
	return "superseded by the slot of " + time.Unix(due, 0).UTC().Format(time.DateTime+"Z")
}

// supersedeClaims ends slots claimed by a run that died or hangs, if their series has moved on.
func supersedeClaims(ctx context.Context, tx *txn, now time.Time) error {
	return supersede(ctx, tx, `state = 'claimed' AND lease <= ?1`, now.UnixMilli(), future(now))
}

// supersede ends the slots that match a condition on ?1 if their series has a newer slot, due at until (seconds) or
// earlier. Missed slots do not count as newer, since no run will fetch them.
func supersede(ctx context.Context, tx *txn, condition string, arg, until int64) error {
	_, err := tx.ExecContext(ctx, `
		UPDATE slots
		SET state = 'skipped', lease = NULL, reason = 'superseded by the slot of ' || strftime('%Y-%m-%d %H:%M:%SZ', newer,
			'unixepoch')
		FROM (
			SELECT id AS old, (
				SELECT due_at FROM slots AS other WHERE other.series = slots.series AND state <> 'missed' AND due_at <= ?2
					ORDER BY due_at DESC LIMIT 1
			) AS newer
			FROM slots WHERE `+condition+`
		) AS late
		WHERE id = old AND due_at < newer`, arg, until)
	return err
}

// forgetAhead removes ticks from rows of missed ticks, written while a clock was ahead, that now come again. Later
// ticks stay: if a newer slot was passed meanwhile, nothing else would record them.
func (a *addition) forgetAhead(ctx context.Context, tx *txn, now time.Time) error {
	last := map[int64]time.Time{} // due time of the newest slot to add, by series
	for _, slot := range a.slots {
		if id := a.series[slot.Series()].id; slot.DueAt.After(last[id]) {
			last[id] = slot.DueAt
		}
	}
	var rows [][3]any // id, first due time and count of the remaining ticks
	err := each(ctx, tx, func(r *sql.Rows) error {
		var id, series int64
		var slot ingest.Slot
		if err := r.Scan(&id, &series, inSeconds(&slot.DueAt), inSeconds(&slot.FirstDueAt), &slot.Count); err != nil {
			return err
		}
		row := [3]any{id, nil, 1}
		if slot = slot.TicksSince(last[series].Add(time.Second)); slot.Count > 1 {
			row[1], row[2] = slot.FirstDueAt.Unix(), slot.Count
		}
		rows = append(rows, row)
		return nil
	}, `
		SELECT id, series, due_at, first_due_at, count FROM slots
		WHERE series IN (SELECT CAST(value AS bigint) FROM json_each(?1)) AND state = 'missed' AND due_at > ?2
			AND first_due_at <= ?2`,
		listJSON(slices.Collect(maps.Keys(last))), future(now))
	if err != nil || len(rows) == 0 {
		return err
	}
	return execJSON(ctx, tx, `
		UPDATE slots SET first_due_at = CAST(value ->> 1 AS bigint), count = CAST(value ->> 2 AS bigint)
		FROM json_each(?1) WHERE slots.id = CAST(value ->> 0 AS bigint)`, rows)
}
