package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
)

// checks are the ways in which the tables of an undamaged file can contradict each other, each with a query that counts
// them.
var checks = []struct{ what, count string }{
	{"%d video{|s} {is|are} not in the index: no search finds {it|them}",
		`SELECT count(*) FROM video_facts WHERE id NOT IN (SELECT id FROM video_text_docsize)`},
	{"%d row{|s} of the index {is|are} of no video",
		`SELECT count(*) FROM video_text_docsize WHERE id NOT IN (SELECT id FROM video_facts)`},
	{"%d placement{|s} {is|are} of no slot, or of no video",
		`SELECT count(*) FROM placements WHERE slot NOT IN (SELECT id FROM slots) OR video NOT IN (SELECT id FROM video_facts)`},
	{"%d placement{|s} {is|are} in another series than {its|their} slot",
		`SELECT count(*) FROM placements JOIN slots ON slots.id = slot WHERE placements.series <> slots.series`},
	{"%d slot{|s} {is|are} of no series",
		`SELECT count(*) FROM slots WHERE series NOT IN (SELECT id FROM series)`},
	{"%d video{|s} {is|are} of a channel that is not there",
		`SELECT count(*) FROM video_facts WHERE channel IS NOT NULL AND channel NOT IN (SELECT id FROM channels)`},
	{"%d series {has|have} another newest slot than {it says|they say}",
		`SELECT count(*) FROM series WHERE newest <> (SELECT max(due_at) FROM slots WHERE series = series.id)`},
	{"%d series {waits|wait} for a slot that is none to claim",
		`SELECT count(*) FROM series WHERE open IS NOT NULL AND NOT EXISTS (
			SELECT 1 FROM slots WHERE series = series.id AND due_at = open AND state IN ('due', 'claimed', 'stopped'))`},
	{"%d slot{|s} {is|are} due and nobody would claim {it|them}",
		`SELECT count(*) FROM slots JOIN series ON series.id = series WHERE state = 'due' AND due_at IS NOT open`},
	{"%d series {was|were} fresh later than {it says|they say}",
		`SELECT count(*) FROM series WHERE coalesce(fresh_at, 0) < (
			SELECT max(fetched_at) FROM slots WHERE series = series.id AND state = 'done')`},
	{"%d video{|s} {has|have} lost {its|their} counts: no search finds {it|them}", `SELECT count(*) FROM video_facts WHERE id NOT IN (SELECT id FROM video_latest)`},
	{"%d row{|s} of counts {is|are} of no video", `SELECT count(*) FROM video_latest WHERE id NOT IN (SELECT id FROM video_facts)`},
	{"%d piece{|s} {is|are} of no slot", `SELECT count(*) ` + orphanPieces},
	{"%d id{|s} that vanished {is|are} of no slot", `SELECT count(*) ` + orphanVanished},
	{"%d piece{|s} {asks|ask} for nothing that can be read", `SELECT count(*) ` + garbledPieces},
	{"%d piece{|s} {does|do} not say of which backfill {it is|they are}", `SELECT count(*) FROM series WHERE ` + unnamedSeries},
	{"%d piece{|s} {is|are} of a backfill that is not there", `SELECT count(*) ` + lostBackfills},
	{"%d piece{|s} {is|are} of another backfill than {its|their} series", `SELECT count(*) ` + mismatchedPieces},
	{"%d piece{|s} {has|have} lost {its|their} slot", `SELECT count(*) ` + slotlessSeries},
	{"%d piece{|s} {has|have} lost what {it asks|they ask} for", `SELECT count(*) FROM slots WHERE ` + missingPieces},
	{"%d piece{|s} {is|are} open and nobody would claim {it|them}", `SELECT count(*) ` + unclaimablePieces},
	{"%d search{|es} {has|have} lost what {it|they} found", `SELECT count(*) FROM slots WHERE ` + missingSearchPieces},
}

// hashesAtOnce is how many videos are read before the time budget is checked again.
const hashesAtOnce = 1000

// check also reports whether the file itself is damaged. It uses a connection of its own: a connection that has
// searched caches a part of the index, which integrity_check does not read again after others have written it, and so
// reports damage where there is none.
func (d *database) check(ctx context.Context) (found []string, file bool, err error) {
	db, err := connect(d.path, 1, d.reading("_query_only=1")...)
	if err != nil {
		return nil, false, d.explain(ctx, "check the store", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	own := database{path: d.path, read: db, reads: newStatements(db)}
	err = own.view(ctx, "check the store", func(tx *txn) error {
		found, file, err = examine(ctx, tx, 0)
		return err
	})
	return found, file, err
}

// examine is check with a connection that has not searched before. A budget other than 0 bounds only the time spent
// comparing texts and index.
func examine(ctx context.Context, q querier, budget time.Duration) (found []string, file bool, err error) {
	if found, err = damages(ctx, q); err != nil || len(found) > 0 {
		return found, true, err // the queries would fail, or return nonsense
	}
	if err := unwritable(ctx, q); errors.Is(err, errUnwritable) {
		return []string{err.Error()}, true, nil
	} else if err != nil {
		return nil, false, err
	}
	for _, c := range checks {
		var n int
		if err := q.QueryRowContext(ctx, c.count).Scan(&n); err != nil {
			return found, false, err
		}
		if n > 0 {
			found = append(found, counted(c.what, n))
		}
	}
	n, err := hidden(ctx, q)
	if err != nil {
		return found, false, err
	}
	if n > 0 {
		found = append(found, counted("%d video{|s} {is|are} not found in a region that charted {it|them}", n))
	}
	sums := indexSums{map[int64]hash{}, map[string]int64{}}
	wrong, whole, err := changedTexts(ctx, q, budget, sums.add)
	if len(wrong) > 0 {
		found = append(found, counted("%d video{|s} {has|have} another text than when {it was|they were} indexed", len(wrong)))
	}
	if !whole || err != nil || len(found) > 0 {
		return found, false, err // the videos are no sound basis to compare the index with
	}
	found, err = sums.compare(ctx, q, budget)
	return found, false, err
}

// changedTexts returns the ids of videos whose text does not match their text_hash. Videos without a channel are not
// compared: the hash includes the channel's name, which is kept only with the channel. Each of the others is visited;
// whole reports whether the budget was enough for all.
func changedTexts(ctx context.Context, q querier, budget time.Duration, visit func(id int64, v ingest.Video)) (ids []int64, whole bool, err error) {
	last, read := int64(0), hashesAtOnce
	for began := time.Now(); read == hashesAtOnce && (budget == 0 || time.Since(began) < budget); {
		read = 0
		err := each(ctx, q, func(rows *sql.Rows) error {
			var hash int64
			v, err := scanVideo(rows, &last, &hash)
			if err == nil && textHash(v) != hash {
				ids = append(ids, last)
			}
			visit(last, v)
			read++
			return err
		}, `
			SELECT `+videoColumns+`, videos.id, text_hash FROM videos JOIN channels ON channels.id = videos.channel
			WHERE videos.id > ? ORDER BY videos.id LIMIT ?`, last, hashesAtOnce)
		if err != nil {
			return ids, false, err
		}
	}
	return ids, read < hashesAtOnce, nil
}

// damages returns what SQLite's integrity_check finds, at most ten lines.
func damages(ctx context.Context, q querier) ([]string, error) {
	found, err := column[string](ctx, q, `PRAGMA integrity_check(10)`)
	return slices.DeleteFunc(found, func(line string) bool { return line == "ok" }), err
}
