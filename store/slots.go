package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
)

// row is a slot as AddDue hands it to SQL.
type row struct {
	Job    string       `json:"job"`
	Key    string       `json:"key"`
	DueAt  int64        `json:"due_at"`
	Kind   ingest.Kind  `json:"kind"`
	State  ingest.State `json:"state"`
	Reason string       `json:"reason"`
}

// given reads the JSON array of rows in ?1.
const given = `
WITH given AS MATERIALIZED (
	SELECT value ->> 'job' AS job, value ->> 'key' AS key, value ->> 'due_at' AS due_at,
	       value ->> 'kind' AS kind, value ->> 'state' AS state, value ->> 'reason' AS reason
	FROM json_each(?1)
)
`

// lacking: is one of the given rows, or the series of one, not there yet?
const lacking = given + `
SELECT coalesce(max(slots.id IS NULL), false), coalesce(max(series.id IS NULL), false)
FROM given
LEFT JOIN series ON series.job = given.job AND series.key = given.key
LEFT JOIN slots ON slots.series = series.id AND slots.due_at = given.due_at`

const addSeries = given + `
INSERT INTO series (job, key)
SELECT DISTINCT job, key FROM given WHERE true
ON CONFLICT DO NOTHING`

const addSlots = given + `
INSERT INTO slots (series, due_at, kind, state, reason)
SELECT series.id, due_at, kind, state, reason FROM given JOIN series USING (job, key) WHERE true
ON CONFLICT DO NOTHING`

// supersede ends what waits for a run that would come too late: a slot that is due, or claimed with its
// lease over at ?1, while its series has a newer one. A missed slot is none that anybody will fetch.
const supersede = `
UPDATE slots
SET state = 'skipped', lease = NULL, reason = 'superseded by the slot of ' || strftime('%Y-%m-%dT%H:%M:%SZ', newer, 'unixepoch')
FROM (
	SELECT id AS old, (
		SELECT due_at FROM slots AS other WHERE other.series = slots.series AND state <> 'missed' ORDER BY due_at DESC LIMIT 1
	) AS newer
	FROM slots WHERE state IN ('due', 'claimed') AND (state = 'due' OR lease <= ?1)
)
WHERE id = old AND due_at < newer`

// AddDue implements fetch.Slots. It writes only when there is something to add.
func (s *Store) AddDue(ctx context.Context, slots []ingest.Slot) error {
	rows := make([]row, len(slots))
	for i, slot := range slots {
		rows[i] = row{slot.Job, slot.Key, slot.DueAt.Unix(), slot.Kind, slot.State, slot.Reason}
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("add slots: %w", err)
	}
	var newSlots, newSeries bool
	if err := s.read.QueryRowContext(ctx, lacking, string(list)).Scan(&newSlots, &newSeries); err != nil || !newSlots {
		return s.explain(ctx, "look for slots", err)
	}
	return s.tx(ctx, "add slots", func(tx *sql.Tx) error {
		if newSeries {
			if _, err := tx.ExecContext(ctx, addSeries, string(list)); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, addSlots, string(list)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, supersede, s.now().UnixMilli())
		return err
	})
}

// Newest implements fetch.Slots.
func (s *Store) Newest(ctx context.Context) (map[ingest.Series]time.Time, error) {
	newest := map[ingest.Series]time.Time{}
	err := s.view(ctx, "read the slots", func(tx *sql.Tx) error {
		return each(ctx, tx, func(rows *sql.Rows) error {
			var of ingest.Series
			var due int64
			if err := rows.Scan(&of.Job, &of.Key, &due); err != nil {
				return err
			}
			newest[of] = time.Unix(due, 0).UTC()
			return nil
		}, `SELECT job, key, (SELECT max(due_at) FROM slots WHERE series = series.id) FROM series`)
	})
	return newest, err
}

// claimable is the id of the slot to claim at ?1, if any, of the series ?2 (a JSON array of [job, key],
// or NULL for all) and not among ?3 (a JSON array of [job, key, due_at]). Least fresh series first. A
// stopped slot counts only as the newest of its series.
const claimable = `
WITH wanted AS MATERIALIZED (
	SELECT id, job, key FROM series
	WHERE ?2 IS NULL OR (job, key) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?2))
), open AS (
	SELECT slots.id, series, due_at FROM slots
	WHERE state IN ('due', 'claimed') AND (state = 'due' OR lease <= ?1)
	UNION ALL
	SELECT slots.id, series, due_at FROM wanted JOIN slots ON slots.id = (
		SELECT newest.id FROM slots AS newest WHERE newest.series = wanted.id ORDER BY newest.due_at DESC LIMIT 1
	)
	WHERE state = 'stopped'
)
SELECT open.id
FROM open JOIN wanted ON wanted.id = open.series
WHERE (job, key, due_at) NOT IN (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?3))
ORDER BY (SELECT max(fetched_at) FROM slots AS fresh WHERE fresh.series = open.series AND fresh.state = 'done'),
         due_at, job, key
LIMIT 1`

// Claim implements fetch.Slots. With nothing to claim it only reads.
func (s *Store) Claim(ctx context.Context, c ingest.Claim) (slot ingest.Slot, ok bool, err error) {
	args, err := claimArgs(c)
	if err != nil {
		return slot, false, fmt.Errorf("claim a slot: %w", err)
	}
	var id int64
	err = s.read.QueryRowContext(ctx, claimable, args...).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return slot, false, nil
	}
	if err != nil {
		return slot, false, s.explain(ctx, "look for a slot to claim", err)
	}
	err = s.tx(ctx, "claim a slot", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, supersede, args[0]); err != nil {
			return err
		}
		err := tx.QueryRowContext(ctx, claimable, args...).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) { // another run was faster, or it was superseded
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `
			UPDATE slots
			SET state = 'claimed', owner = ?2, attempt = attempt + 1, lease = ?3, reason = '', retry_at = NULL
			WHERE id = ?1`, id, c.Owner, c.Now.Add(c.Lease).UnixMilli()); err != nil {
			return err
		}
		slot, err = scanSlot(tx.QueryRowContext(ctx, selectSlots+` WHERE slots.id = ?`, id))
		ok = err == nil
		return err
	})
	return slot, ok && err == nil, err
}

// claimArgs are the parameters of claimable.
func claimArgs(c ingest.Claim) ([]any, error) {
	var series any
	if c.Series != nil {
		pairs := make([][2]string, len(c.Series))
		for i, of := range c.Series {
			pairs[i] = [2]string{of.Job, of.Key}
		}
		list, err := json.Marshal(pairs)
		if err != nil {
			return nil, err
		}
		series = string(list)
	}
	except := make([][3]any, len(c.Except))
	for i, k := range c.Except {
		except[i] = [3]any{k.Job, k.Key, k.DueAt.Unix()}
	}
	list, err := json.Marshal(except)
	return []any{c.Now.UnixMilli(), series, string(list)}, err
}

// Finish implements fetch.Slots. The time of the last page stays as SavePage or SaveVideos wrote it.
func (s *Store) Finish(ctx context.Context, slot ingest.Slot) error {
	return s.tx(ctx, "finish a slot", func(tx *sql.Tx) error {
		id, _, err := fence(ctx, tx, slot)
		if err != nil {
			return err
		}
		slot.FetchedAt = time.Time{}
		return writeProgress(ctx, tx, id, slot)
	})
}

// fence finds the slot and its series, if it is still the owner's.
func fence(ctx context.Context, tx *sql.Tx, slot ingest.Slot) (id, series int64, err error) {
	err = tx.QueryRowContext(ctx, `
		SELECT slots.id, series.id FROM series JOIN slots ON slots.series = series.id
		WHERE job = ? AND key = ? AND due_at = ? AND state = 'claimed' AND owner = ? AND attempt = ?`,
		slot.Job, slot.Key, slot.DueAt.Unix(), slot.Owner, slot.Attempt).Scan(&id, &series)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, ingest.ErrFenced
	}
	return id, series, err
}

// writeProgress writes how far a fenced slot came. A zero FetchedAt leaves the one that is there.
func writeProgress(ctx context.Context, tx *sql.Tx, id int64, slot ingest.Slot) error {
	lease := slot.Lease
	if slot.State != ingest.Claimed {
		lease = time.Time{}
	}
	_, err := tx.ExecContext(ctx, `
		UPDATE slots
		SET state = ?, lease = ?, token = ?, token_at = ?, pages = ?, videos = ?, units = ?, reason = ?, retry_at = ?,
		    fetched_at = coalesce(?, fetched_at)
		WHERE id = ?`,
		slot.State, millis(lease), slot.Token, millis(slot.TokenAt), slot.Pages, slot.Videos, slot.Units, slot.Reason,
		millis(slot.RetryAt), millis(slot.FetchedAt), id)
	return err
}
