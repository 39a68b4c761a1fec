package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Repaired lists what a repair found and did, one line each.
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
