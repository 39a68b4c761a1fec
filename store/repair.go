package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

// Repaired is what a repair found and did, a line each.
type Repaired struct {
	Found  []string // what was wrong; nothing: nothing was done
	Done   []string
	Lost   []string // what could not be read: the next runs fetch again what the upstream still has
	Broken string   // where the damaged file is kept; "" when the store was mended in place
}

// repairStep is how many rows of the index a transaction writes, so that others wait for milliseconds.
const repairStep = 200

// Repair makes the store in dir whole. What is wrong between its tables is mended in place, in small
// steps, while others use it. A file that is damaged is kept under another name, and all that can be read of
// it moves to a new one: for that nobody else may have it open. A file of another program, and one of a newer
// version, are refused as Open refuses them, unless it is the header alone that says so, and cannot be right.
// No other file in dir is touched.
func Repair(ctx context.Context, dir string, o Options) (Repaired, error) {
	var r Repaired
	o.ReadOnly = false
	dir, err := filepath.Abs(dir)
	if err != nil {
		return r, fmt.Errorf("repair the store in %q: %w", dir, err)
	}
	if _, err := os.Stat(filepath.Join(dir, FileName)); err != nil {
		return r, fmt.Errorf("repair the store: %w", err)
	}
	s := &Store{path: filepath.Join(dir, FileName), now: o.Now}
	if s.now == nil {
		s.now = time.Now
	}
	whole, err := r.inPlace(ctx, dir, o)
	if err != nil {
		ours, lookErr := s.mislabelled(ctx, err)
		if !ours || lookErr != nil {
			return r, errors.Join(err, lookErr)
		}
		r.Found = append(r.Found, "a byte of the header has changed: "+err.Error())
	}
	if whole {
		return r, nil
	}
	return r, s.rescue(ctx, &r)
}

// inPlace mends what an open store can mend, and reports whether it is whole then. It is not when the file
// itself is damaged.
func (r *Repaired) inPlace(ctx context.Context, dir string, o Options) (whole bool, err error) {
	s, err := Open(ctx, dir, o)
	if err != nil {
		return false, r.damaged(err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	found, file, err := s.check(ctx)
	if err != nil {
		return false, r.damaged(err)
	}
	if r.Found = found; len(found) == 0 {
		return true, nil
	}
	if file {
		if !onlyIndex(found) {
			return false, nil
		}
		if err := s.clearIndex(ctx); err != nil {
			return false, r.damaged(err)
		}
		r.Done = append(r.Done, "emptied the index, which was damaged")
	}
	if err := s.mend(ctx, r); err != nil {
		return false, r.damaged(err)
	}
	left, err := s.Check(ctx)
	if err != nil || len(left) > 0 {
		r.Found = append(r.Found, left...)
		return false, r.damaged(err)
	}
	return true, nil
}

// damaged notes an error that says the file is damaged, and returns every other.
func (r *Repaired) damaged(err error) error {
	var corrupt *CorruptError
	switch {
	case errors.As(err, &corrupt):
		r.Found = append(r.Found, corrupt.Err.Error())
	case err != nil && strings.Contains(err.Error(), "invalid fts5 file format"): // SQLite has no code of its own for it
		r.Found = append(r.Found, err.Error())
	default:
		return err
	}
	return nil
}

// onlyIndex reports whether it is the index alone that SQLite finds damaged.
func onlyIndex(found []string) bool {
	for _, line := range found {
		if !strings.Contains(line, "video_text") || strings.Contains(line, "\n") {
			return false
		}
	}
	return true
}

// clearIndex takes every row out of the index, whatever state that is in.
func (s *Store) clearIndex(ctx context.Context) error {
	return s.tx(ctx, "empty the index", func(tx *txn) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO video_text (video_text) VALUES ('delete-all')`)
		return err
	})
}

// mend makes the tables true to one another.
func (s *Store) mend(ctx context.Context, r *Repaired) error {
	steps := []struct {
		did string
		sql []string
	}{
		{"gave up %d chart{|s} that {was|were} not whole any more", []string{
			lostCharts(s.now()) + `kind = 'chart' AND id IN (SELECT slot FROM placements WHERE video NOT IN (SELECT id FROM video_facts))`,
		}},
		{"took %d row{|s} out that belonged to nothing", []string{
			`DELETE FROM slots WHERE series NOT IN (SELECT id FROM series)`,
			`DELETE ` + orphanPieces, `DELETE ` + orphanVanished, `DELETE ` + garbledPieces,
			`UPDATE video_facts SET channel = NULL, text_hash = ~text_hash, facts_hash = 0 WHERE channel IS NOT NULL AND channel NOT IN (SELECT id FROM channels)`, // until it is met again
			`DELETE FROM placements WHERE slot NOT IN (SELECT id FROM slots) OR video NOT IN (SELECT id FROM video_facts)`,
			`DELETE FROM video_latest WHERE id NOT IN (SELECT id FROM video_facts)`,
		}},
		{"marked %d video{|s} to be refreshed, whose counts were lost", []string{mendLatest(s.now())}},
		{"put %d placement{|s} into the series of {its|their} slot", []string{
			`UPDATE placements SET series = slots.series FROM slots WHERE slots.id = slot AND placements.series <> slots.series`,
		}},
		{"corrected %d row{|s} of backfills and searches", mendPieces(s.now())},
		{"corrected %d row{|s} of the schedule", []string{mendNewest, mendDue, mendOpen, mendOpenPieces, mendFresh}},
	}
	for _, step := range steps {
		total := 0
		err := s.tx(ctx, "mend the store", func(tx *txn) error {
			total = 0
			// What belongs to nothing cannot be taken out in an order that pleases the foreign keys.
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
		if total > 0 {
			r.Done = append(r.Done, counted(step.did, total))
		}
	}
	return errors.Join(s.mendTexts(ctx, r), s.mendIndex(ctx, r))
}

// lostCharts makes charts that were done, and are not whole any more, failed; but the last of its series is
// due again, so that the next run fetches it. The condition on slots is yet to be added.
func lostCharts(now time.Time) string {
	return fmt.Sprintf(`
		UPDATE slots
		SET pages = 0, videos = 0, token = '', token_at = NULL,
		    state = CASE WHEN state <> 'done' THEN state
		        WHEN due_at = (SELECT max(due_at) FROM slots AS other WHERE other.series = slots.series) THEN 'due' ELSE 'failed' END,
		    reason = iif(state = 'done', 'its chart was lost when the store was damaged; repaired %s', reason)
		WHERE `, now.UTC().Format(time.RFC3339))
}

// What the row of a series repeats of its slots: see schema.sql.
const (
	mendNewest = `
		UPDATE series SET newest = last FROM (SELECT series AS id, max(due_at) AS last FROM slots GROUP BY series) AS found
		WHERE found.id = series.id AND newest <> last`

	mendDue = `
		UPDATE slots SET state = 'skipped', reason = 'superseded by a newer slot'
		WHERE state = 'due' AND due_at < (SELECT max(due_at) FROM slots AS other WHERE other.series = slots.series AND state <> 'missed')`

	mendOpen = `
		UPDATE series SET open = (
			SELECT due_at FROM slots
			WHERE series = series.id AND (state IN ('due', 'claimed') OR state = 'stopped' AND due_at = newest)
			ORDER BY due_at DESC LIMIT 1)
		WHERE open IS NOT NULL AND NOT EXISTS (
				SELECT 1 FROM slots WHERE series = series.id AND due_at = open AND state IN ('due', 'claimed', 'stopped'))
			OR EXISTS (SELECT 1 FROM slots WHERE series = series.id AND state = 'due' AND due_at IS NOT open)`

	mendFresh = `
		UPDATE series SET fresh_at = last
		FROM (SELECT series AS id, max(fetched_at) AS last FROM slots WHERE state = 'done' GROUP BY series) AS found
		WHERE found.id = series.id AND coalesce(fresh_at, 0) < last`
)

// longAgo is a fetch so long ago that the next refresh asks again, in milliseconds.
func longAgo(now time.Time) int64 { return now.Add(-ingest.RefreshAfter - time.Second).UnixMilli() }

// mendLatest gives a video that has lost them counts that nobody knows, as of the last chart that it was in. The
// rows it changes are those of its last statement.
func mendLatest(now time.Time) string {
	return fmt.Sprintf(`
		UPDATE video_facts SET fetched_day = 0 WHERE id NOT IN (SELECT id FROM video_latest);
		INSERT INTO video_latest (id, fetched_at, seen_at)
		SELECT id, %d, coalesce((SELECT max(slots.fetched_at) FROM placements JOIN slots ON slots.id = slot WHERE video = video_facts.id), %[1]d)
		FROM video_facts WHERE id NOT IN (SELECT id FROM video_latest)`, longAgo(now))
}

// mendTexts takes a text that has changed behind our back for what it is, and has it refreshed.
func (s *Store) mendTexts(ctx context.Context, r *Repaired) error {
	ids, err := changedTexts(ctx, s.read, 0)
	if err != nil || len(ids) == 0 {
		return s.explain(ctx, "compare the texts", err)
	}
	err = s.tx(ctx, "mend the texts", func(tx *txn) error {
		if err := execJSON(ctx, tx, `UPDATE video_latest SET fetched_at = min(fetched_at, ?2) WHERE id IN (SELECT value FROM json_each(?1))`, ids, longAgo(s.now())); err != nil {
			return err
		}
		if err := execJSON(ctx, tx, `UPDATE video_facts SET facts_hash = 0, fetched_day = 0 WHERE id IN (SELECT value FROM json_each(?1))`, ids); err != nil {
			return err
		}
		return rewriteIndex(ctx, tx, ids)
	})
	if err == nil {
		r.Done = append(r.Done, counted("marked %d video{|s} to be refreshed, and indexed {it as it is|them as they are}", len(ids)))
	}
	return err
}

// mendIndex gives the index a row for every video and for nothing else, a few at a time.
func (s *Store) mendIndex(ctx context.Context, r *Repaired) error {
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
		err := s.steps(ctx, "mend the index", func(tx *txn) (bool, error) {
			var ids []int64
			if err := each(ctx, tx, func(rows *sql.Rows) error {
				err := rows.Scan(&last)
				ids = append(ids, last)
				return err
			}, step.find, last, repairStep); err != nil {
				return false, err
			}
			total += len(ids)
			return len(ids) == repairStep, step.write(ctx, tx, ids)
		})
		if err != nil {
			return err
		}
		if total > 0 {
			r.Done = append(r.Done, counted(step.did, total))
		}
	}
	return nil
}

// rewriteIndex writes the videos' rows of the index, and the hash of the text that they have.
func rewriteIndex(ctx context.Context, tx *txn, ids []int64) error {
	shelf, err := newShelf(ctx, tx, time.Time{}, nil)
	if err != nil {
		return err
	}
	for _, id := range ids {
		var v ingest.Video
		err := each(ctx, tx, func(rows *sql.Rows) (err error) {
			v, err = scanVideo(rows)
			return err
		}, `SELECT `+videoColumns+` FROM videos LEFT JOIN channels ON channels.id = videos.channel WHERE videos.id = ?`, id)
		if err != nil {
			return err
		}
		// A name without a channel to keep it with is known to the hash alone: it stays.
		if _, err := tx.ExecContext(ctx, `UPDATE video_facts SET text_hash = ? WHERE id = ? AND channel IS NOT NULL`, textHash(v), id); err != nil {
			return err
		}
		shelf.index(id, v)
	}
	return shelf.flush(ctx)
}
