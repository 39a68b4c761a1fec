package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

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
	l.Now = d.clock.Now
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
	if err := sqlitefile.Snapshot(ctx, path, made); err != nil {
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
