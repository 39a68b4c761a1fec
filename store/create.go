package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// create creates the store and its missing directories. It builds the file under another name and links it to its own,
// so that it is complete once it exists; the slower of two processes finds it there.
func create(ctx context.Context, d *database, upstream string) (err error) {
	dir := filepath.Dir(d.path)
	made, err := mkdirAll(dir)
	defer func() {
		if err != nil {
			for _, name := range slices.Backward(made) {
				_ = os.Remove(name) // fails if another process has put something there
			}
		}
	}()
	if err != nil {
		return fmt.Errorf("make the data directory: %w: make it writable, or give another data directory", err)
	}
	draft, err := newDraft(ctx, d.path, upstream)
	if err != nil {
		return fmt.Errorf("create the store: %w", err)
	}
	defer func() { _ = sqlitefile.Remove(draft) }()
	if err := moveLeftLog(d); err != nil {
		return fmt.Errorf("create the store: %w: move it away", err)
	}
	if err := sqlitefile.Publish(draft, d.path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create the store: %w", err)
	}
	return nil
}

// newDraft makes an empty store in the directory of path, under another name.
func newDraft(ctx context.Context, path, upstream string) (draft string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), FileName+".new-*") // 0600
	if err != nil {
		return "", fmt.Errorf("%w: make the data directory writable, or give another one", err)
	}
	if err := errors.Join(f.Close(), build(ctx, f.Name(), upstream)); err != nil {
		_ = sqlitefile.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// moveLeftLog renames the log of a deleted store to ingest.db-wal.left-TIME: SQLite would write it into the new store.
// It leaves the log of a store that another process has just created.
func moveLeftLog(d *database) error {
	at := d.now().UTC().Format("20060102T150405.000Z")
	for _, suffix := range []string{"-shm", "-wal"} {
		if !sqlitefile.Exists(d.path+suffix) || sqlitefile.Exists(d.path) {
			continue
		}
		if err := os.Rename(d.path+suffix, d.path+suffix+".left-"+at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// build writes an empty store, complete and in WAL mode, into the file draft.
func build(ctx context.Context, draft, upstream string) error {
	// auto_vacuum can only be chosen for an empty file; Tidy uses it.
	db, err := connect(draft, 1, "mode=rw", "_auto_vacuum=INCREMENTAL", "_synchronous=FULL",
		"_journal_mode=WAL", "_txlock=immediate")
	if err != nil {
		return err
	}
	b := database{path: draft, write: db}
	err = b.tx(ctx, "write the tables", func(tx *txn) error {
		if err := tables.Create(ctx, tx); err != nil || upstream == "" {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO meta (name, value) VALUES ('upstream', ?)`, upstream)
		return err
	})
	return errors.Join(err, db.Close())
}

// mkdirAll makes dir and its missing parents with mode 0700, and returns those it made.
func mkdirAll(dir string) (made []string, err error) {
	var missing []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !os.IsNotExist(err) || d == filepath.Dir(d) {
			break
		}
		missing = append(missing, d)
	}
	for _, d := range slices.Backward(missing) {
		switch err := os.Mkdir(d, 0o700); {
		case err == nil:
			made = append(made, d)
		case !os.IsExist(err):
			return made, err
		}
	}
	if info, err := os.Stat(dir); err != nil {
		return made, err
	} else if !info.IsDir() {
		return made, &fs.PathError{Op: "mkdir", Path: dir, Err: errors.New("is a file")}
	}
	return made, nil
}
