package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
)

// repairTables makes the tables consistent with one another.
func (d *database) repairTables(ctx context.Context, r *Repaired) error {
	steps := []struct {
		did string
		sql []string
	}{
		{"gave up %d chart{|s} that {was|were} not whole any more", []string{
			lostCharts(d.now()) + `kind = 'chart' AND id IN (SELECT slot FROM placements WHERE video NOT IN (SELECT id FROM video_facts))`,
		}},
		{"took %d row{|s} out that belonged to nothing", []string{
			`DELETE FROM slots WHERE series NOT IN (SELECT id FROM series)`,
			`DELETE ` + orphanPieces, `DELETE ` + orphanVanished, `DELETE ` + garbledPieces,
			`UPDATE video_facts SET channel = NULL, text_hash = ~text_hash, facts_hash = 0 WHERE channel IS NOT NULL AND channel NOT IN (SELECT id FROM channels)`, // until the video is fetched again
			`DELETE FROM placements WHERE slot NOT IN (SELECT id FROM slots) OR video NOT IN (SELECT id FROM video_facts)`,
			`DELETE FROM video_latest WHERE id NOT IN (SELECT id FROM video_facts)`,
		}},
		{"marked %d video{|s} to be refreshed, whose counts were lost", []string{restoreLatest(d.now())}},
		{"put %d placement{|s} into the series of {its|their} slot", []string{
			`UPDATE placements SET series = slots.series FROM slots WHERE slots.id = slot AND placements.series <> slots.series`,
		}},
		{"corrected %d row{|s} of backfills and searches", repairPieces(d.now())},
		{"corrected %d row{|s} of the schedule", []string{repairNewest, repairDue, repairOpen, repairOpenPieces, repairFresh}},
	}
	for _, step := range steps {
		total := 0
		err := d.tx(ctx, "repair the store", func(tx *txn) error {
			total = 0
			// No order of deleting rows without a parent satisfies the foreign keys at every step.
			if _, err := tx.ExecContext(ctx, `PRAGMA defer_foreign_keys = 1`); err != nil {
				return err
			}
			for _, query := range step.sql {
				n, err := affected(tx.ExecContext(ctx, query))
				if total += n; err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		r.recordDone(step.did, total)
	}
	return errors.Join(d.repairBlocks(ctx, r), d.repairTexts(ctx, r), d.repairIndex(ctx, r))
}

// lostCharts marks incomplete charts that were done as failed, except that the newest of a series becomes due again, so
// that the next run fetches it. The caller appends the condition on slots.
func lostCharts(now time.Time) string {
	return fmt.Sprintf(`
		UPDATE slots
		SET pages = 0, videos = 0, token = '', token_at = NULL,
		    state = CASE WHEN state <> 'done' THEN state
		        WHEN due_at = (SELECT max(due_at) FROM slots AS other WHERE other.series = slots.series) THEN 'due' ELSE 'failed' END,
		    reason = iif(state = 'done', 'its chart was lost when the store was damaged; repaired %s', reason)
		WHERE `, now.UTC().Format(time.RFC3339))
}

// These correct what a series row repeats of its slots: see schema.sql.
const (
	repairNewest = `
		UPDATE series SET newest = last FROM (SELECT series AS id, max(due_at) AS last FROM slots GROUP BY series) AS found
		WHERE found.id = series.id AND newest <> last`

	repairDue = `
		UPDATE slots SET state = 'skipped', reason = 'superseded by a newer slot'
		WHERE state = 'due' AND due_at < (SELECT max(due_at) FROM slots AS other WHERE other.series = slots.series AND state <> 'missed')`

	repairOpen = `
		UPDATE series SET open = (
			SELECT due_at FROM slots
			WHERE series = series.id AND (state IN ('due', 'claimed') OR state = 'stopped' AND due_at = newest)
			ORDER BY due_at DESC LIMIT 1)
		WHERE open IS NOT NULL AND NOT EXISTS (
				SELECT 1 FROM slots WHERE series = series.id AND due_at = open AND state IN ('due', 'claimed', 'stopped'))
			OR EXISTS (SELECT 1 FROM slots WHERE series = series.id AND state = 'due' AND due_at IS NOT open)`

	repairFresh = `
		UPDATE series SET fresh_at = last
		FROM (SELECT series AS id, max(fetched_at) AS last FROM slots WHERE state = 'done' GROUP BY series) AS found
		WHERE found.id = series.id AND coalesce(fresh_at, 0) < last`
)

// longAgo is a fetch time, in milliseconds, old enough that the next refresh asks again.
func longAgo(now time.Time) int64 { return now.Add(-ingest.RefreshAfter - time.Second).UnixMilli() }

// restoreLatest gives videos that have lost their counts unknown ones, as of the last chart that they were in. The
// number of rows affected is that of its last statement.
func restoreLatest(now time.Time) string {
	return fmt.Sprintf(`
		UPDATE video_facts SET fetched_day = 0 WHERE id NOT IN (SELECT id FROM video_latest);
		INSERT INTO video_latest (id, fetched_at, seen_at)
		SELECT id, %d, coalesce((SELECT max(slots.fetched_at) FROM placements JOIN slots ON slots.id = slot WHERE video = video_facts.id), %[1]d)
		FROM video_facts WHERE id NOT IN (SELECT id FROM video_latest)`, longAgo(now))
}

// repairBlocks writes what is missing in charted_blocks, and what is wrong in video_traits.
func (d *database) repairBlocks(ctx context.Context, r *Repaired) error {
	charted, watched := 0, 0
	err := d.tx(ctx, "note which videos were charted where, and how much they are watched", func(tx *txn) error {
		missed, err := hidden(ctx, tx)
		if err != nil {
			return err
		}
		for remainder, videos := range missed {
			charted += len(videos)
			if err := addCharted(ctx, tx, remainder, videos); err != nil {
				return err
			}
		}
		wrong, err := untrue(ctx, tx)
		if err != nil {
			return err
		}
		watched = len(wrong)
		return writeTraits(ctx, tx, wrong)
	})
	r.recordDone("put %d video{|s} back into the regions that charted {it|them}", charted)
	r.recordDone("noted how much %d video{|s} {is|are} watched, and {its|their} category", watched)
	return err
}

// repairTexts indexes texts changed outside the program as they now are, and has their videos refreshed.
func (d *database) repairTexts(ctx context.Context, r *Repaired) error {
	ids, _, err := changedTexts(ctx, d.read, 0, func(int64, ingest.Video) {})
	if err != nil || len(ids) == 0 {
		return d.explain(ctx, "compare the texts", err)
	}
	err = d.tx(ctx, "repair the texts", func(tx *txn) error {
		if err := execJSON(ctx, tx, `UPDATE video_latest SET fetched_at = min(fetched_at, ?2) WHERE id IN (SELECT value FROM json_each(?1))`, ids, longAgo(d.now())); err != nil {
			return err
		}
		if err := execJSON(ctx, tx, `UPDATE video_facts SET facts_hash = 0, fetched_day = 0 WHERE id IN (SELECT value FROM json_each(?1))`, ids); err != nil {
			return err
		}
		return rewriteIndex(ctx, tx, ids)
	})
	if err == nil {
		r.recordDone("marked %d video{|s} to be refreshed, and indexed {it as it is|them as they are}", len(ids))
	}
	return err
}

// repairIndex gives the index one row for every video and none for anything else, a few rows at a time.
func (d *database) repairIndex(ctx context.Context, r *Repaired) error {
	steps := []struct {
		did, find string
		write     func(context.Context, *txn, []int64) error
	}{
		{"took %d row{|s} of no video out of the index",
			`SELECT id FROM video_text_docsize WHERE id > ? AND id NOT IN (SELECT id FROM videos) ORDER BY id LIMIT ?`,
			func(ctx context.Context, tx *txn, ids []int64) error {
				return execJSON(ctx, tx, `DELETE FROM video_text WHERE rowid IN (SELECT value FROM json_each(?1))`, ids)
			}},
		{"indexed %d video{|s}", `SELECT id FROM videos WHERE id > ? AND id NOT IN (SELECT id FROM video_text_docsize) ORDER BY id LIMIT ?`, rewriteIndex},
	}
	for _, step := range steps {
		total, last := 0, int64(0)
		err := d.runSteps(ctx, "repair the index", func(tx *txn) (bool, error) {
			ids, err := column[int64](ctx, tx, step.find, last, repairStep)
			if err != nil {
				return false, err
			}
			if len(ids) > 0 {
				last = ids[len(ids)-1]
			}
			total += len(ids)
			return len(ids) == repairStep, step.write(ctx, tx, ids)
		})
		if err != nil {
			return err
		}
		r.recordDone(step.did, total)
	}
	return nil
}

// lostPiece is the reason of a piece that fails because its request is lost.
const lostPiece = `what it asks for was lost when the store was damaged: plan it again`

// repairPieces lets every piece of a backfill be worked on, or fails it. Rows without a slot must be gone by then. A
// lost backfill gets a substitute row, cancelled at now, so that what its pieces spent stays known and its name is not
// assigned again.
func repairPieces(now time.Time) []string {
	return []string{
		`UPDATE series SET backfill = CAST(substr(job, 13) AS INTEGER) WHERE ` + unnamedSeries,
		`UPDATE series SET place = coalesce((
			SELECT unixepoch(spec ->> 'After') FROM slots JOIN pieces ON slot = slots.id WHERE slots.series = series.id), id)
		WHERE backfill IS NOT NULL AND place IS NULL`,
		fmt.Sprintf(`
			INSERT INTO backfills (id, name, kind, identity, spec, cost_table, wait, created_at, cancelled_at, charged)
			SELECT backfill, 'bf-' || backfill, coalesce((
				SELECT CASE WHEN spec ->> 'After' <> '' THEN 'search' WHEN spec ->> 'channel' <> '' THEN 'uploads' ELSE 'videos' END
				FROM slots JOIN pieces ON slot = slots.id WHERE slots.series = series.id), 'videos'),
				'lost ' || backfill, '{}', '', 0, min(newest) * 1000, %d, (
				SELECT json_group_object(pool, n) FROM (
					SELECT drawn.key AS pool, sum(drawn.value) AS n
					FROM series AS mine JOIN slots ON slots.series = mine.id CROSS JOIN json_each(charges) AS drawn
					WHERE mine.backfill = series.backfill GROUP BY drawn.key))
			%s GROUP BY backfill`, now.UnixMilli(), lostBackfills),
		`UPDATE pieces SET backfill = found.backfill
		FROM (SELECT slots.id, backfill FROM slots JOIN series ON series.id = series) AS found
		WHERE found.id = slot AND pieces.backfill IS NOT found.backfill`,
		`INSERT INTO slots (series, due_at, kind, state, reason) SELECT id, newest, 'backfill', 'failed', '` + lostPiece + `' ` + slotlessSeries,
		`UPDATE slots SET state = 'failed', lease = NULL, retry_at = NULL, reason = '` + lostPiece + `'
		WHERE ` + missingPieces + ` OR state IN ('due', 'stopped', 'claimed') AND series IN (
			SELECT series.id FROM series JOIN backfills ON backfills.id = backfill WHERE identity = 'lost ' || backfill)`,
		`UPDATE slots SET pages = 0, token = '', token_at = NULL WHERE ` + missingSearchPieces,
		`DELETE FROM backfills WHERE id NOT IN (SELECT backfill FROM series WHERE backfill IS NOT NULL)`,
	}
}

// repairOpenPieces opens the series of every open piece: a piece is the only slot of its series.
const repairOpenPieces = `
UPDATE series SET open = due_at FROM slots
WHERE slots.series = series.id AND backfill IS NOT NULL AND state IN ('due', 'claimed', 'stopped') AND open IS NOT due_at`
