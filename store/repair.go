package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// Repaired lists the damages that a repair found and mended, one line each.
type Repaired struct {
	Found  []string // what was wrong; empty: nothing was done
	Done   []string
	Lost   []string // what could not be read; the next runs fetch what the upstream still has
	Broken string   // where the damaged file is kept; "" when the store was repaired in place
}

// Repair makes the store in dir whole. Contradictions between its tables are repaired in place, in small steps, while
// others use it. A damaged file is kept under another name, and all that can be read of it moves to a new one; nobody
// else may have it open. A file of another program or of a newer version is refused as by Open, unless only a damaged
// header says so. A store whose upstream cannot be read gets that of the options. No other file in dir is touched.
func Repair(ctx context.Context, dir string, o Options) (Repaired, error) {
	var r Repaired
	upstream := o.Upstream
	o.ReadOnly, o.Upstream = false, "" // the store itself says whose it is
	dir, err := filepath.Abs(dir)
	if err != nil {
		return r, fmt.Errorf("repair the store in %q: %w", dir, err)
	}
	d := newDatabase(dir, o.Now)
	if _, err := os.Stat(d.path); err != nil {
		return r, fmt.Errorf("repair the store: %w", err)
	}
	whole, err := r.inPlace(ctx, dir, o)
	if err != nil {
		ours, lookErr := mislabelled(ctx, d.path, err)
		if !ours || lookErr != nil {
			return r, errors.Join(err, lookErr)
		}
		r.Found = append(r.Found, "a byte of the header has changed: "+err.Error())
	}
	if whole {
		return r, nil
	}
	return r, d.rescue(ctx, upstream, &r)
}

// recordDone records what was done to n rows, in a text for counted.
func (r *Repaired) recordDone(text string, n int) {
	if n > 0 {
		r.Done = append(r.Done, counted(text, n))
	}
}

// inPlace repairs what can be repaired in an open store, and reports whether the store is whole afterwards. It is not
// if the file itself is damaged.
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
			if _, err := s.exec(ctx, "empty the index", `INSERT INTO video_text (video_text) VALUES ('delete-all')`); err != nil {
				return false, r.recordDamage(err)
			}
			r.Done = append(r.Done, "emptied the index, which was damaged")
		}
		if err := s.repairTables(ctx, r); err != nil {
			return false, r.recordDamage(err)
		}
	}
	return false, nil
}

// recordDamage records an error about a damaged file as a finding, and returns any other.
func (r *Repaired) recordDamage(err error) error {
	var corrupt *CorruptError
	switch {
	case errors.As(err, &corrupt):
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

// rescue moves what can be read of a damaged file into a new one, which takes its name. The damaged file is kept
// unchanged under another name.
func (d *database) rescue(ctx context.Context, upstream string, r *Repaired) (err error) {
	f, err := os.OpenFile(d.path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("repair the store: %w", err)
	}
	defer func() { _ = f.Close() }() // which also releases the lock
	if err := sqlitefile.LockExclusive(f); errors.Is(err, sqlitefile.ErrInUse) {
		return fmt.Errorf("repair %s: %w: stop ingest serve and whatever else runs, and repair it then", d.path, err)
	} else if err != nil {
		return fmt.Errorf("repair %s: %w", d.path, err)
	}
	r.Broken = fmt.Sprintf("%s.broken-%s", d.path, d.now().UTC().Format("20060102T150405.000Z"))
	if err := sqlitefile.CopyOpen(f, r.Broken); err != nil {
		return fmt.Errorf("keep %s as it is, as %s: %w: free some space", d.path, r.Broken, err)
	}
	draft, err := newDraft(ctx, d.path, "")
	if err != nil {
		return fmt.Errorf("make a new store beside %s: %w", d.path, err)
	}
	copied := draft + "-page"
	defer func() {
		_ = errors.Join(sqlitefile.Remove(draft), sqlitefile.Remove(copied), os.RemoveAll(r.Broken+"-shm"))
	}()
	from, err := r.readableFile(ctx, draft, copied)
	if err != nil {
		return err
	}
	if err := d.buildDraft(ctx, from, draft, upstream, r); err != nil {
		return err
	}
	return d.replace(f, draft)
}

// buildDraft builds a consistent store, draft, from what can be read of a file.
func (d *database) buildDraft(ctx context.Context, file, draft, upstream string, r *Repaired) (err error) {
	// writable_schema lets SQLite read a truncated file, and a damaged schema.
	from, err := connect(file, 1, "mode=ro", "_query_only=1", "_pragma=cell_size_check(1)", "_pragma=writable_schema(1)")
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
		return fmt.Errorf("move what can be read of %s: %w", d.path, err)
	}
	r.Done = append(r.Done, rescue.kept...)
	r.Lost = append(r.Lost, rescue.lost...)
	slices.Sort(r.Lost)
	if err := made.repairTables(ctx, r); err != nil {
		return fmt.Errorf("make a whole store of what could be read of %s: %w", d.path, err)
	}
	found, _, err := made.check(ctx)
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("what could be read of %s makes no whole store (%s): restore a backup, or move it away and fetch again", d.path, found[0])
	}
	return err
}

// replace gives the draft the name of the damaged file. It removes the log first: SQLite would take it for the new
// file's. It empties the old file, so that a process that waited for the lock with that file open refuses it.
func (d *database) replace(old *os.File, draft string) error {
	if err := sqlitefile.RemoveBeside(d.path); err != nil {
		return fmt.Errorf("put the new store in place: %w", err)
	}
	if err := os.Rename(draft, d.path); err != nil {
		return fmt.Errorf("put the new store in place: %w", err)
	}
	sqlitefile.SyncDir(filepath.Dir(d.path))
	if err := old.Truncate(0); err != nil {
		return fmt.Errorf("empty the damaged store, of which there is a copy: %w", err)
	}
	return nil
}

// readableFile returns a file from which the damaged store, kept as r.Broken, can be read: that file or, if it yields
// more tables, a copy with another first page. The first page leads to all others, so one changed byte may hide a store
// that is otherwise whole. fresh is a new store, which has the same header and, unless the old one was vacuumed, the
// same pages for its tables.
func (r *Repaired) readableFile(ctx context.Context, fresh, copied string) (path string, err error) {
	want, err := newSchema(ctx)
	if err != nil {
		return "", err
	}
	page, size, err := firstPage(r.Broken)
	if err != nil {
		return "", fmt.Errorf("read the damaged store: %w", err)
	}
	best := -1 // an empty file must not be opened: SQLite would delete its log
	if size > 0 {
		best, path = want.in(ctx, r.Broken), r.Broken
	}
	made, _, err := firstPage(fresh)
	if err != nil {
		return "", fmt.Errorf("read the new store: %w", err)
	}
	const shape = 24 // bytes that say how SQLite reads every page: the same in every store
	shaped := len(page) >= shape && bytes.Equal(page[:shape], made[:shape])
	if shaped && best == len(want) {
		return path, nil
	}
	if err := sqlitefile.Copy(r.Broken, copied); err != nil {
		return "", fmt.Errorf("copy the damaged store: %w: free some space", err)
	}
	var chosen []byte
	for _, body := range [][]byte{page, made} {
		if len(body) < pageSize {
			continue
		}
		first := repairedPage(made, body, page, size)
		if err := putFirstPage(copied, first); err != nil {
			return "", err
		}
		if n := want.in(ctx, copied); n > best || n == best && !shaped && chosen == nil {
			best, chosen = n, first
		}
	}
	if chosen == nil {
		return r.Broken, nil
	}
	return copied, putFirstPage(copied, chosen)
}

// repairedPage returns a first page with the header of a new store, the counters of the old one, and the rest of body.
func repairedPage(made, body, old []byte, size int64) []byte {
	page := append(made[:headerSize:headerSize], body[headerSize:]...)
	if len(old) >= headerSize {
		copy(page[counterAt:], old[counterAt:counterAt+4])
		copy(page[userVersionAt:], old[userVersionAt:userVersionAt+4]) // the columns are read from the schema itself
	}
	copy(page[validForAt:], page[counterAt:counterAt+4])
	binary.BigEndian.PutUint32(page[pageCountAt:], uint32(max(size/pageSize, 1)))
	return page
}

func putFirstPage(path string, page []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("repair a copy of the damaged store: %w", err)
	}
	_, err = f.WriteAt(page, 0)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("repair a copy of the damaged store: %w", err)
	}
	return nil
}
