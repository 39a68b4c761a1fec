package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// errInUse is a damaged store that others have open: nobody may take a file from under them.
var errInUse = errors.New("another process has it open: stop ingest serve and whatever else runs, and repair it then")

// rescue moves what can be read of a damaged file into a new one that takes its name. The damaged one, as it
// was found, is kept beside it.
func (s *Store) rescue(ctx context.Context, r *Repaired) (err error) {
	f, err := os.OpenFile(s.path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("repair the store: %w", err)
	}
	defer func() { _ = f.Close() }() // and with it the lock
	if err := lockAlone(f); err != nil {
		return fmt.Errorf("repair %s: %w", s.path, err)
	}
	r.Broken = fmt.Sprintf("%s.broken-%s", s.path, s.now().UTC().Format("20060102T150405.000Z"))
	if err := s.keepBroken(f, r.Broken); err != nil {
		return fmt.Errorf("keep %s as it is, as %s: %w: free some space", s.path, r.Broken, err)
	}
	draft, err := s.newDraft(ctx)
	if err != nil {
		return err
	}
	copied := draft + "-page"
	defer func() { _ = errors.Join(removeDatabase(draft), removeDatabase(copied), os.RemoveAll(r.Broken+"-shm")) }()
	from, err := r.legible(ctx, draft, copied)
	if err != nil {
		return err
	}
	if err := s.fill(ctx, from, draft, r); err != nil {
		return err
	}
	return s.replace(f, draft)
}

// keepBroken copies the damaged file, through the descriptor that holds the lock, and its log.
func (s *Store) keepBroken(f *os.File, to string) error {
	if err := copyTo(f, to); err != nil {
		return err
	}
	wal, err := os.Open(s.path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = wal.Close() }()
	return copyTo(wal, to+"-wal")
}

func copyTo(from io.Reader, to string) error {
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		_ = os.Remove(to)
	}
	return err
}

// newDraft is an empty store under another name, beside this one.
func (s *Store) newDraft(ctx context.Context) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(s.path), FileName+".new-*") // 0600
	if err != nil {
		return "", fmt.Errorf("make a new store beside %s: %w", s.path, err)
	}
	draft := f.Name()
	if err := errors.Join(f.Close(), s.build(ctx, draft, "")); err != nil {
		_ = removeDatabase(draft)
		return "", fmt.Errorf("make a new store beside %s: %w", s.path, err)
	}
	return draft, nil
}

// fill reads what it can of a file, and makes a store of it that is whole and true to itself.
func (s *Store) fill(ctx context.Context, file, draft string, r *Repaired) (err error) {
	// writable_schema is what lets SQLite read a file that was cut off, and a schema with damage in it.
	from, err := connect(file, 1, "mode=ro", "_query_only=1", "_pragma=cell_size_check(1)", "_pragma=writable_schema(1)")
	if err != nil {
		return s.explain(ctx, "read the damaged store", err)
	}
	defer func() { _ = from.Close() }()
	d := &Store{path: draft, now: s.now}
	if d.write, err = connect(draft, 1, "mode=rw", "_txlock=immediate", "_journal_mode=WAL", "_synchronous=FULL"); err != nil {
		return d.explain(ctx, "fill the new store", err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if d.read, err = connect(draft, readers, "mode=ro", "_query_only=1"); err != nil {
		return d.explain(ctx, "fill the new store", err)
	}
	rescue := salvage{from: from, to: d, now: s.now()}
	if err := rescue.run(ctx); err != nil {
		return fmt.Errorf("move what can be read of %s: %w", s.path, err)
	}
	r.Done = append(r.Done, rescue.kept...)
	r.Lost = append(r.Lost, rescue.lost...)
	slices.Sort(r.Lost)
	if err := d.mend(ctx, r); err != nil {
		return fmt.Errorf("make a whole store of what could be read of %s: %w", s.path, err)
	}
	found, err := d.Check(ctx)
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("what could be read of %s makes no whole store (%s): restore a backup, or move it away and fetch again", s.path, found[0])
	}
	return err
}

// replace gives the draft the name of the damaged file. The log goes first: it would be taken for the new
// file's. A process that has waited for the lock holds the old file: it finds that empty, and refuses it.
func (s *Store) replace(old *os.File, draft string) error {
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if err := os.Remove(s.path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("put the new store in place: %w", err)
		}
	}
	if err := os.Rename(draft, s.path); err != nil {
		return fmt.Errorf("put the new store in place: %w", err)
	}
	syncDir(filepath.Dir(s.path))
	if err := old.Truncate(0); err != nil {
		return fmt.Errorf("empty the damaged store, of which there is a copy: %w", err)
	}
	return nil
}
