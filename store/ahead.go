package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/trendvidstream/ingest"
)

// forgetAhead removes, from rows of missed ticks written while a clock was ahead, those that now come again. The later
// ones stay: they would have no record if a newer slot was passed meanwhile.
func (a *addition) forgetAhead(ctx context.Context, tx *txn, now time.Time) error {
	var ahead []int64
	last := map[int64]int64{} // due time of the newest slot to add
	for _, slot := range a.slots {
		if of := a.series[slot.Series()]; of.ahead {
			if _, known := last[of.id]; !known {
				ahead = append(ahead, of.id)
			}
			last[of.id] = max(last[of.id], slot.DueAt.Unix())
		}
	}
	if len(ahead) == 0 {
		return nil
	}
	var rows [][3]*int64 // id, first due time and count of what stays
	err := each(ctx, tx, func(r *sql.Rows) error {
		var id, series int64
		var slot ingest.Slot
		if err := r.Scan(&id, &series, inSeconds(&slot.DueAt), inSeconds(&slot.FirstDueAt), &slot.Count); err != nil {
			return err
		}
		ticks := slot.Ticks()
		for len(ticks) > 1 && ticks[0].Unix() <= last[series] {
			ticks = ticks[1:]
		}
		if left := int64(len(ticks)); left > 1 {
			first := ticks[0].Unix()
			rows = append(rows, [3]*int64{&id, &first, &left})
		} else {
			rows = append(rows, [3]*int64{&id, nil, &left})
		}
		return nil
	}, `
		SELECT id, series, due_at, first_due_at, count FROM slots
		WHERE series IN (SELECT CAST(value AS bigint) FROM json_each(?1)) AND state = 'missed' AND due_at > ?2 AND first_due_at <= ?2`, listJSON(ahead), future(now))
	if err != nil {
		return err
	}
	return execJSON(ctx, tx, `
		UPDATE slots SET first_due_at = CAST(value ->> 1 AS bigint), count = CAST(value ->> 2 AS bigint)
		FROM json_each(?1) WHERE slots.id = CAST(value ->> 0 AS bigint)`, rows)
}
