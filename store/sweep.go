package store

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// Limits of one transaction of Sweep, so that other writers wait only milliseconds.
const (
	sweepSlots  = 10 // slots whose placements are deleted
	sweepVideos = 200
	sweepRows   = 1000 // rows of slots
)

// Sweep implements fetch.Sink. The age of a slot and its placements counts from its due time, a video's from its last
// fetch. The schedule continues from the newest slot of every series and the slots yet to be claimed, which stay.
// Copies left by migrations and repairs are deleted too. Tidy follows.
func (s *Store) Sweep(ctx context.Context, now time.Time) (placements, videos int, err error) {
	cutoff, others := now.Add(-ingest.KeepFor), 0
	library := func(ctx context.Context, tx *txn, cutoff time.Time) (int, error) {
		ids, err := column[int64](ctx, tx, `SELECT id FROM videos WHERE fetched_day <= ? AND fetched_at < ? LIMIT ?`,
			dayOf(cutoff), cutoff.UnixMilli(), sweepVideos)
		for _, id := range ids {
			n := 0
			if err == nil {
				n, err = dropVideo(ctx, tx, id)
			}
			placements += n
		}
		return len(ids), err
	}
	for _, part := range []struct {
		count *int
		sweep func(context.Context, *txn, time.Time) (int, error)
	}{
		{&placements, few(sweepSlots, oldPlacements)}, {&videos, library}, {&others, few(sweepVideos, goneVideos)},
		{&others, few(sweepRows, oldAbsences)}, {&others, few(sweepRows, oldSlots)}, {&others, few(sweepRows, oldVanished)},
		{&others, sweepWaiting}, {&others, sweepPieces}, {&others, few(sweepRows, oldBackfills)},
		{&others, few(sweepRows, emptyBlocks)}, {&others, s.sweepWords()},
	} {
		err := s.runSteps(ctx, "delete old data", func(tx *txn) (bool, error) {
			n, err := part.sweep(ctx, tx, cutoff)
			*part.count += n
			return n > 0, err
		})
		if err != nil {
			return placements, videos, err
		}
	}
	if err := s.sweepChannels(ctx); err != nil {
		return placements, videos, err
	}
	if err := s.dropPlans(ctx, 0, now); err != nil {
		return placements, videos, err
	}
	if err := s.sweepCopies(cutoff); err != nil {
		return placements, videos, err
	}
	return placements, videos, s.Tidy(ctx)
}

// few returns a sweep by one statement; its ?1 is the cutoff in seconds, ?2 the greatest number of rows to delete.
func few(most int, query string) func(context.Context, *txn, time.Time) (int, error) {
	return func(ctx context.Context, tx *txn, cutoff time.Time) (int, error) {
		return affected(tx.ExecContext(ctx, query, ceilUnix(cutoff), most))
	}
}

const (
	// Placements of old slots; here ?2 counts slots.
	oldPlacements = `
DELETE FROM placements WHERE slot IN (
	SELECT id FROM slots
	WHERE due_at < ?1 AND kind <> 'backfill' AND EXISTS (SELECT 1 FROM placements WHERE slot = slots.id)
	ORDER BY due_at LIMIT ?2)`

	// Videos that are gone and have no placements any more.
	goneVideos = `
DELETE FROM video_facts WHERE id IN (
	SELECT id FROM video_facts WHERE gone = 1 AND NOT EXISTS (SELECT 1 FROM placements WHERE video = video_facts.id)
		LIMIT ?2 + 0 * ?1)`

	// Absences of videos that came back.
	oldAbsences = `
DELETE FROM absences WHERE video IN (
	SELECT video FROM absences JOIN video_latest ON video_latest.id = video WHERE fetched_at >= asked_at
		LIMIT ?2 + 0 * ?1)`

	// Old slots whose placements have been deleted.
	oldSlots = `
DELETE FROM slots WHERE id IN (
	SELECT slots.id FROM slots JOIN series ON series.id = series
	WHERE due_at < ?1 AND kind <> 'backfill' AND due_at <> newest AND due_at IS DISTINCT FROM open
		AND state NOT IN ('due', 'claimed')
	ORDER BY due_at LIMIT ?2)`

	// IDs that could not be looked up and were noted too long ago.
	oldVanished = `
DELETE FROM vanished WHERE (video_id, slot) IN (SELECT video_id, slot FROM vanished WHERE noted_at < ?1 * 1000
	LIMIT ?2)`

	// Backfills without pieces.
	oldBackfills = `
DELETE FROM backfills WHERE id IN (
	SELECT id FROM backfills WHERE created_at < ?1 * 1000
		AND NOT EXISTS (SELECT 1 FROM series WHERE backfill = backfills.id) LIMIT ?2)`

	// Rows of video_blocks without videos.
	emptyBlocks = `DELETE FROM video_blocks WHERE id % 4294967296 < (SELECT min(id) FROM video_facts) / 2048`
)

// leftCopy matches the suffix of a file left beside the store by a migration, a repair or moveLeftLog; it is at least
// as old as its name says.
var leftCopy = regexp.MustCompile(
	`^(?:\.v[0-9]+-backup|\.broken|-wal\.left|-shm\.left)-([0-9]{8}T[0-9]{6}\.[0-9]{3}Z)(?:-[0-9]+)?$`)

// sweepCopies deletes such files when they are too old.
func (s *Store) sweepCopies(cutoff time.Time) error {
	if s.engine != nil {
		return nil // an engine has no such files
	}
	entries, err := os.ReadDir(filepath.Dir(s.path))
	if err != nil {
		return fmt.Errorf("look for copies of the store that are too old: %w", err)
	}
	for _, e := range entries {
		name := leftCopy.FindStringSubmatch(strings.TrimPrefix(e.Name(), FileName))
		if name == nil {
			continue
		}
		if at, err := time.Parse("20060102T150405.000Z", name[1]); err != nil || !at.Before(cutoff) {
			continue
		}
		if err := sqlitefile.Remove(filepath.Join(filepath.Dir(s.path), e.Name())); err != nil {
			return fmt.Errorf("delete a copy of the store that is too old: %w", err)
		}
	}
	return nil
}

// sweepChannels deletes channels without videos.
func (s *Store) sweepChannels(ctx context.Context) error {
	const empty = ` FROM channels WHERE NOT EXISTS (SELECT 1 FROM video_facts WHERE channel = channels.id)`
	var found bool
	err := s.read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1`+empty+`)`).Scan(&found)
	if err != nil || !found {
		return s.explain(ctx, "look for empty channels", err)
	}
	_, err = s.exec(ctx, "delete empty channels", `DELETE`+empty)
	return err
}

// sweepWaiting forgets queued ids that the upstream returned too long ago; their piece starts over.
func sweepWaiting(ctx context.Context, tx *txn, cutoff time.Time) (int, error) {
	old, err := column[int64](ctx, tx, `
		SELECT slot FROM backfills JOIN pieces ON backfill = backfills.id AND waiting <> '[]' JOIN slots ON slots.id = slot
		WHERE backfills.kind IN ('search', 'uploads') AND fetched_at < ? AND state <> 'claimed' LIMIT ?`,
		cutoff.UnixMilli(), sweepRows)
	if err != nil {
		return 0, err
	}
	return len(old), execEach(ctx, tx, old,
		`UPDATE pieces SET waiting = '[]' WHERE slot IN (SELECT CAST(value AS bigint) FROM json_each(?1))`,
		`UPDATE slots SET token = '', token_at = NULL, pages = 0
			WHERE id IN (SELECT CAST(value AS bigint) FROM json_each(?1))`)
}

// sweepWords returns a sweep of the words that have left the index, some at a time in alphabetical order.
func (s *Store) sweepWords() func(context.Context, *txn, time.Time) (int, error) {
	from := ""
	return func(ctx context.Context, tx *txn, _ time.Time) (n int, err error) {
		if s.engine != nil {
			return 0, nil // an engine does that itself
		}
		last := from
		if err = tx.QueryRowContext(ctx, `SELECT count(*), coalesce(max(word), '')
			FROM (SELECT word FROM words WHERE word > ?1 ORDER BY word LIMIT ?2) AS next`, from, sweepRows).
			Scan(&n, &last); err == nil {
			_, err = tx.ExecContext(ctx, `DELETE FROM words WHERE word > ?1 AND word <= ?2
				AND word NOT IN (SELECT term FROM video_words WHERE term > ?1 AND term <= ?2)`, from, last)
		}
		from = last
		return n, err
	}
}

// endedBackfills selects backfills with no open piece, and no fetch since the cutoff ?1.
const endedBackfills = `
SELECT id FROM backfills
WHERE created_at < ?1 AND (cancelled_at < ?1 OR NOT ` + hasOpenPieces + `)
  AND NOT EXISTS (SELECT 1 FROM series JOIN slots ON slots.series = series.id WHERE backfill = backfills.id
      AND fetched_at >= ?1)`

// sweepPieces deletes a few pieces of backfills that ended long ago.
func sweepPieces(ctx context.Context, tx *txn, cutoff time.Time) (int, error) {
	series, err := column[int64](ctx, tx, `SELECT id FROM series WHERE backfill IN (`+endedBackfills+`) LIMIT ?2`,
		cutoff.UnixMilli(), sweepRows)
	if err != nil {
		return 0, err
	}
	return len(series), execEach(ctx, tx, series,
		`DELETE FROM slots WHERE series IN (SELECT CAST(value AS bigint) FROM json_each(?1))`,
		`DELETE FROM series WHERE id IN (SELECT CAST(value AS bigint) FROM json_each(?1))`)
}

// Kept counts the stored data of the upstream.
func (s *Store) Kept(ctx context.Context) (k ingest.Kept, err error) {
	var days sql.NullInt64
	var chart time.Time
	err = s.read.QueryRowContext(ctx, `
		SELECT (SELECT count(*) FROM video_facts WHERE gone = 0), count(*) FILTER (WHERE kind = 'chart' AND state = 'done'),
			(SELECT min(fetched_day) FROM video_facts WHERE gone = 0), min(fetched_at) FILTER (WHERE videos > 0
				AND kind <> 'backfill') FROM slots`).
		Scan(&k.Videos, &k.Charts, &days, inMillis(&chart))
	if days.Valid {
		k.Oldest = time.Unix(days.Int64*24*60*60, 0).UTC()
	}
	if !chart.IsZero() && (k.Oldest.IsZero() || chart.Before(k.Oldest.Add(24*time.Hour))) {
		k.Oldest = chart.UTC() // more exact than the video's day
	}
	return k, s.explain(ctx, "count kept data", err)
}

// Limits of Tidy, so that a step holds the write lock for milliseconds.
const (
	tidyMerge   = 200 // index pages merged per step
	tidyPages   = 500 // pages returned to the disk per step: 2 MiB
	tidySpare   = 4   // a file keeps a quarter of its pages free, to grow into again
	tidyAtMost  = 200 // steps of each kind; the rest waits for the next call
	tidyChanged = 2   // rows: a merge that changes fewer is finished (fts5, section 6.8)
)

// Tidy merges the index and returns empty pages to the disk, in steps between which others can write, up to
// tidyAtMost.
func (s *Store) Tidy(ctx context.Context) error {
	if s.engine != nil {
		return nil // an engine tidies itself
	}
	for _, part := range []struct {
		doing string
		step  func(context.Context, *txn) (more bool, err error)
	}{{"merge the index", mergeIndex}, {"give empty pages back", releasePages}} {
		left := tidyAtMost
		err := s.runSteps(ctx, part.doing, func(tx *txn) (bool, error) {
			left--
			more, err := part.step(ctx, tx)
			return more && left > 0, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mergeIndex merges a part of the index into one segment and reports whether there is more. A search looks for each
// word in each segment: with one instead of six it takes half the time. A negative number of pages merges segments of
// all sizes.
func mergeIndex(ctx context.Context, tx *txn) (more bool, err error) {
	var before, after int64
	if err := tx.QueryRowContext(ctx, `SELECT total_changes()`).Scan(&before); err != nil {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO video_text (video_text, rank) VALUES ('merge', ?)`,
		-tidyMerge); err != nil {
		return false, err
	}
	err = tx.QueryRowContext(ctx, `SELECT total_changes()`).Scan(&after)
	return after-before >= tidyChanged, err
}

// releasePages returns a few empty pages to the disk and reports whether the file has more than it should keep.
func releasePages(ctx context.Context, tx *txn) (more bool, err error) {
	var all, free int64
	err = tx.QueryRowContext(ctx,
		`SELECT page_count, freelist_count FROM pragma_page_count, pragma_freelist_count`).Scan(&all, &free)
	excess := (tidySpare*free - all) / (tidySpare - 1) // leaves the smaller file its share of free pages
	if err != nil || excess <= 0 {
		return false, err
	}
	// Each row read frees a page.
	err = each(ctx, tx, func(*sql.Rows) error { return nil },
		fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, min(excess, tidyPages)))
	return excess > tidyPages, err
}
