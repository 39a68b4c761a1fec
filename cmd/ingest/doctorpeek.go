package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// errLeftover is a database that cannot be read without finishing what a crash has left.
var errLeftover = errors.New("a -wal file without its -shm is beside it, as after a crash or a copy")

// peek runs look on a database file and leaves nothing beside it. SQLite makes a -wal and a -shm file
// where it reads a database in WAL mode that nobody has open; so such a one is read as one that does
// not change, and again if somebody opened it meanwhile.
func peek(ctx context.Context, path string, look func(*sql.DB) error) error {
	for {
		before, err := os.Stat(path)
		if err != nil {
			return err
		}
		params := "immutable=1"
		if used(path) {
			if _, err := os.Stat(path + "-shm"); err != nil || before.Size() == 0 { // SQLite deletes an empty file's -wal
				return fmt.Errorf("%s: %w", path, errLeftover)
			}
			params = "readonly_shm=1"
		}
		err = peekOnce(path, params, look)
		after, statErr := os.Stat(path)
		if statErr != nil || ctx.Err() != nil || params != "immutable=1" ||
			!used(path) && after.Size() == before.Size() && after.ModTime().Equal(before.ModTime()) {
			return err
		}
	}
}

// used reports whether what a database holds is in its -wal file too.
func used(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

func peekOnce(path, params string, look func(*sql.DB) error) error {
	db, err := openReadOnly(path, params)
	if err != nil {
		return err
	}
	err = look(db)
	return errors.Join(err, db.Close())
}

func openReadOnly(path, params string) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	slashed := filepath.ToSlash(abs)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	name := url.URL{Scheme: "file", Path: slashed}
	db, err := sql.Open("sqlite", name.String()+"?mode=ro&_pragma=busy_timeout(1000)&"+params)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// copies are ledgers' files copied into a directory of their own, where they can be opened as they
// always are: which writes.
type copies struct {
	mu   sync.Mutex
	dir  string
	made map[string]string // path -> copy
}

// ledger opens a copy of the ledger's file in the data directory.
func (d *doctor) ledger(ctx context.Context, data string) (*sqliteledger.Ledger, error) {
	path, err := d.copies.of(ctx, filepath.Join(data, ledgerFile))
	if err != nil {
		return nil, err
	}
	l, err := sqliteledger.Open(ctx, path)
	if err != nil {
		return nil, d.original(err, path, data)
	}
	l.Now = d.clock.now
	return l, nil
}

// original says the name of the file that was meant in place of its copy's.
func (d *doctor) original(err error, path, data string) error {
	if !strings.Contains(err.Error(), path) {
		return err
	}
	return renamedError{err, strings.ReplaceAll(err.Error(), path, filepath.Join(data, ledgerFile))}
}

type renamedError struct {
	error
	text string
}

func (e renamedError) Error() string { return e.text }
func (e renamedError) Unwrap() error { return e.error }

// of makes the copy of a file, once, of one moment.
func (c *copies) of(ctx context.Context, path string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if made := c.made[path]; made != "" {
		return made, nil
	}
	if _, err := os.Stat(path); err != nil {
		return "", err
	}
	if c.dir == "" {
		dir, err := os.MkdirTemp("", "ingest-doctor-*") // 0700
		if err != nil {
			return "", fmt.Errorf("no place for a copy of %s: %w: set TMPDIR", path, err)
		}
		c.dir, c.made = dir, map[string]string{}
	}
	dir, err := os.MkdirTemp(c.dir, "")
	if err != nil {
		return "", fmt.Errorf("no place for a copy of %s: %w: set TMPDIR", path, err)
	}
	made := filepath.Join(dir, ledgerFile)
	if proof, err := os.ReadFile(path + ".lock"); err == nil { // how often it was written, before it is read
		_ = os.WriteFile(made+".lock", proof, 0o600)
	}
	err = peek(ctx, path, func(db *sql.DB) error {
		_ = os.Remove(made) // of a first try
		_, err := db.ExecContext(ctx, `VACUUM INTO ?`, made)
		return err
	})
	if err != nil {
		return "", codeError{exitUnavailable, fmt.Errorf("read %s: %w", path, err)}
	}
	c.made[path] = made
	return made, nil
}

// forget has the file copied again when it is next asked for.
func (c *copies) forget(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.made, path)
}

// remove waits for a check that was left behind, for a moment.
func (c *copies) remove() {
	for range 10 {
		if c.mu.TryLock() {
			if c.dir != "" {
				_ = os.RemoveAll(c.dir)
			}
			c.mu.Unlock()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}
