package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

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
