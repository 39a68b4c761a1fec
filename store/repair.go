package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/ownfile"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// Repaired lists a repair's findings and changes, one line each.
type Repaired struct {
	Found  []string // empty: nothing was wrong
	Done   []string
	Lost   []string // unreadable; the next runs fetch the part that the upstream still has
	Broken string   // where the damaged file is kept; "" when the store was repaired in place
}

// Repair makes the store in dir whole. Contradictions between tables are repaired in place, in small steps, while
// others use it. A damaged file is kept under another name, and its readable rows move to a new one; no other process
// may have it open. A file of another program or a newer version is refused as by Open. If the store's upstream
// cannot be read, the options' upstream is used. No other file in dir is touched.
func Repair(ctx context.Context, dir string, o Options) (Repaired, error) {
	var r Repaired
	upstream := o.Upstream
	o.ReadOnly, o.Upstream = false, "" // the store's own upstream counts
	dir, err := filepath.Abs(dir)
	if err != nil {
		return r, fmt.Errorf("repair the store in %q: %w", dir, err)
	}
	d := newDatabase(dir, o.Now)
	if _, err := os.Stat(d.path); err != nil {
		return r, fmt.Errorf("repair the store: %w", err)
	}
	if whole, err := r.inPlace(ctx, dir, o); err != nil || whole {
		return r, err
	}
	return r, d.rescue(ctx, upstream, &r)
}

// recordDone records an action on n rows, in a text for counted.
func (r *Repaired) recordDone(text string, n int) {
	if n > 0 {
		r.Done = append(r.Done, counted(text, n))
	}
}

// inPlace repairs an open store, and reports whether it is whole afterwards. It cannot repair a damaged file.
func (r *Repaired) inPlace(ctx context.Context, dir string, o Options) (whole bool, err error) {
	s, err := Open(ctx, dir, o)
	if err != nil {
		return false, r.recordDamage(err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for range 3 { // errors in the tables may hide errors in the index
		found, file, err := s.check(ctx)
		if err != nil {
			return false, r.recordDamage(err)
		}
		if len(found) == 0 {
			return true, nil
		}
		if r.Found = append(r.Found, found...); file && !onlyIndex(found) {
			return false, nil
		}
		if slices.ContainsFunc(found, ofIndex) {
			if _, err := s.exec(ctx, "empty the index",
				`INSERT INTO video_text (video_text) VALUES ('delete-all')`); err != nil {
				return false, r.recordDamage(err)
			}
			r.Done = append(r.Done, "emptied the index, which was damaged")
		}
		if err := s.mend(ctx, r); err != nil {
			return false, r.recordDamage(err)
		}
	}
	return false, nil
}

// recordDamage records an error about damage as a finding, and returns any other.
func (r *Repaired) recordDamage(err error) error {
	switch corrupt, ok := errors.AsType[*CorruptError](err); {
	case ok:
		r.Found = append(r.Found, corrupt.Err.Error())
	case err != nil && strings.Contains(err.Error(), "invalid fts5 file format"): // SQLite has no error code for this
		r.Found = append(r.Found, err.Error())
	default:
		return err
	}
	return nil
}

// onlyIndex reports whether only the index is damaged.
func onlyIndex(found []string) bool {
	return !slices.ContainsFunc(found, func(line string) bool { return !ofIndex(line) || strings.Contains(line, "\n") })
}

// ofIndex reports whether a line of check says that the index is damaged.
func ofIndex(line string) bool { return strings.Contains(line, "video_text") }

// rescue moves the readable rows of a damaged file into a new one, which takes its name. The damaged file is kept
// unchanged under another name.
func (d *database) rescue(ctx context.Context, upstream string, r *Repaired) (err error) {
	f, err := ownfile.Open(d.path, os.O_RDWR)
	if err != nil {
		return fmt.Errorf("repair the store: %w", err)
	}
	defer func() { _ = f.Close() }() // which also releases the lock
	if err := sqlitefile.LockExclusive(f); errors.Is(err, sqlitefile.ErrInUse) {
		return fmt.Errorf("repair %s: %w: stop ingest serve and every other ingest process, and repair it then", d.path, err)
	} else if err != nil {
		return fmt.Errorf("repair %s: %w", d.path, err)
	}
	r.Broken = fmt.Sprintf("%s.broken-%s", d.path, d.now().UTC().Format("20060102T150405.000Z"))
	if err := sqlitefile.Copy(f, r.Broken); err != nil {
		return fmt.Errorf("keep a copy of %s as %s: %w: free some space", d.path, r.Broken, err)
	}
	draft, err := newDraft(ctx, d.path, "")
	if err != nil {
		return fmt.Errorf("make a new store beside %s: %w", d.path, err)
	}
	readable := draft + "-from"
	defer func() { _ = errors.Join(sqlitefile.Remove(draft), sqlitefile.Remove(readable)) }()
	if err := sqlitefile.CopyReadable(f, readable, draft, sqlitefile.HeaderSize); err != nil {
		return fmt.Errorf("copy the damaged store: %w: free some space", err)
	}
	if err := d.buildDraft(ctx, readable, draft, upstream, r); err != nil {
		return err
	}
	return d.replace(f, draft)
}

// buildDraft builds a consistent store, draft, from the readable rows of a file.
func (d *database) buildDraft(ctx context.Context, file, draft, upstream string, r *Repaired) (err error) {
	// writable_schema lets SQLite read a truncated file, and a damaged schema.
	from, err := connect(file, 1, "mode=ro", "_query_only=1", sqlitefile.Undefended)
	if err != nil {
		return d.explain(ctx, "read the damaged store", err)
	}
	defer func() { _ = from.Close() }()
	made := &database{path: draft, now: d.now}
	if err := errors.Join(made.connectToWrite(), made.connectToRead()); err != nil {
		return made.explain(ctx, "fill the new store", err)
	}
	defer func() { err = errors.Join(err, made.Close()) }()
	rescue := salvage{from: from, to: made, now: d.now(), upstream: upstream}
	if err := rescue.run(ctx); err != nil {
		return fmt.Errorf("move the readable rows of %s: %w", d.path, err)
	}
	r.Done = append(r.Done, rescue.kept...)
	r.Lost = append(r.Lost, rescue.lost...)
	slices.Sort(r.Lost)
	if err := made.mend(ctx, r); err != nil {
		return fmt.Errorf("build a consistent store from the readable rows of %s: %w", d.path, err)
	}
	found, _, err := made.check(ctx)
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("no consistent store can be built from the readable rows of %s (%s): "+
			"restore a backup, or move it away and fetch again", d.path, found[0])
	}
	return err
}

// replace gives the draft the damaged file's name. It first removes the log, which SQLite would take for the log
// of the new file. It empties the old file, so that a process that waits for its lock then refuses it.
func (d *database) replace(old *os.File, draft string) error {
	if err := sqlitefile.RemoveBeside(d.path); err != nil {
		return fmt.Errorf("put the new store in place: %w", err)
	}
	if err := os.Rename(draft, d.path); err != nil {
		return fmt.Errorf("put the new store in place: %w", err)
	}
	sqlitefile.SyncDir(filepath.Dir(d.path))
	if err := old.Truncate(0); err != nil {
		return fmt.Errorf("empty the damaged store, which has a copy: %w", err)
	}
	return nil
}

// mend makes tables and index consistent with one another, in small steps.
func (d *database) mend(ctx context.Context, r *Repaired) error {
	if err := d.noteLostSlots(ctx, r); err != nil {
		return err
	}
	corrected := 0
	for _, c := range contradictions {
		n := 0
		err := d.tx(ctx, "repair the store", func(tx *txn) error {
			// Deletions in any order violate foreign keys in between.
			_, err := tx.ExecContext(ctx, `PRAGMA defer_foreign_keys = 1`)
			if err == nil && c.mend != "" {
				n, err = affected(tx.ExecContext(ctx, c.mend, d.now().UnixMilli()))
			}
			return err
		})
		if err != nil {
			return err
		}
		if c.did == "" {
			corrected, n = corrected+n, 0
		}
		r.recordDone(c.did, n)
	}
	r.recordDone("corrected %d row{|s}", corrected)
	return errors.Join(d.repairBlocks(ctx, r), d.repairTexts(ctx, r), d.repairIndex(ctx, r))
}

// lostSlots is the note of when a repair last found that slots were lost: RFC 3339.
const lostSlots = "slots lost"

// noteLostSlots notes that slots were lost, and with them their spends. The newest slot of a series is never deleted,
// so that a series without it has lost slots.
func (d *database) noteLostSlots(ctx context.Context, r *Repaired) error {
	lost := slices.ContainsFunc(r.Lost, func(line string) bool {
		return strings.HasPrefix(line, "slots: ") || strings.HasPrefix(line, "series: ")
	})
	return d.tx(ctx, "note that slots were lost", func(tx *txn) error {
		if !lost {
			err := tx.QueryRowContext(ctx, `
				SELECT EXISTS (SELECT 1 FROM series WHERE NOT EXISTS (SELECT 1 FROM slots WHERE series = series.id
					AND due_at = newest))`).Scan(&lost)
			if err != nil || !lost {
				return err
			}
		}
		return writeNote(ctx, tx, lostSlots, d.now().UTC().Format(time.RFC3339))
	})
}

// LostSlots returns when a repair last found that slots were lost: earlier spends are not all known. Zero: never.
func (s *Store) LostSlots(ctx context.Context) (time.Time, error) {
	var text string
	if err := readNote(ctx, s.read, lostSlots, &text); err != nil || text == "" {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339, text)
}

func (d *database) repairBlocks(ctx context.Context, r *Repaired) error {
	charted, watched := 0, 0
	err := d.tx(ctx, "correct the regions and views that searches use", func(tx *txn) error {
		hidden, traits, err := wrongBlocks(ctx, tx)
		if err != nil {
			return err
		}
		for series, videos := range hidden {
			charted += len(videos)
			if err := addCharted(ctx, tx, series, videos); err != nil {
				return err
			}
		}
		watched = len(traits)
		return writeTraits(ctx, tx, traits)
	})
	r.recordDone("put %d video{|s} back into the regions that charted {it|them}", charted)
	r.recordDone("corrected the views and category of %d video{|s} for searches", watched)
	return err
}

// repairTexts reindexes texts that another program changed, and schedules their videos for a refresh.
func (d *database) repairTexts(ctx context.Context, r *Repaired) error {
	ids, err := changedTexts(ctx, d.read, func(int64, ingest.Video) {})
	if err != nil || len(ids) == 0 {
		return d.explain(ctx, "compare the texts", err)
	}
	err = d.tx(ctx, "repair the texts", func(tx *txn) error {
		if err := execJSON(ctx, tx, `UPDATE video_latest SET fetched_at = min(fetched_at, ?2)
			WHERE id IN (SELECT value FROM json_each(?1))`, ids, d.now().Add(-longAgo).UnixMilli()); err != nil {
			return err
		}
		if err := execJSON(ctx, tx, `UPDATE video_facts SET facts_hash = 0, fetched_day = 0
			WHERE id IN (SELECT value FROM json_each(?1))`, ids); err != nil {
			return err
		}
		return rewriteIndex(ctx, tx, ids)
	})
	if err == nil {
		r.recordDone("marked %d video{|s} to be refreshed, and indexed {it as it is|them as they are}", len(ids))
	}
	return err
}

// repairIndex gives the index exactly one row per video, a few rows at a time.
func (d *database) repairIndex(ctx context.Context, r *Repaired) error {
	steps := []struct {
		did, find string
		write     func(context.Context, *txn, []int64) error
	}{
		{"removed %d row{|s} without a video from the index",
			`SELECT id FROM video_text_docsize WHERE id > ? AND id NOT IN (SELECT id FROM videos) ORDER BY id LIMIT ?`,
			func(ctx context.Context, tx *txn, ids []int64) error {
				return execJSON(ctx, tx, `DELETE FROM video_text WHERE rowid IN (SELECT value FROM json_each(?1))`, ids)
			}},
		{"indexed %d video{|s}", `SELECT id FROM videos WHERE id > ? AND id NOT IN (SELECT id FROM video_text_docsize)
			ORDER BY id LIMIT ?`, rewriteIndex},
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
