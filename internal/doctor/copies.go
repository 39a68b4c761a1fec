package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/quota"
)

// copies are copies of ledgers' files, each in a directory of its own. Opening a ledger writes to it, so that a ledger
// which must not change is copied first.
type copies struct {
	mu   sync.Mutex
	dirs []string
	made map[string]string // path -> copy
}

// of copies a file as of one moment, once.
func (c *copies) of(ctx context.Context, path string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if made := c.made[path]; made != "" {
		return made, nil
	}
	if _, err := os.Stat(path); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "ingest-doctor-*") // 0700
	if err != nil {
		return "", fmt.Errorf("no place for a copy of %s: %w: set TMPDIR", path, err)
	}
	c.dirs = append(c.dirs, dir)
	made := filepath.Join(dir, filepath.Base(path))
	if count, err := os.ReadFile(path + ".lock"); err == nil { // how often it was written, read before it
		_ = os.WriteFile(made+".lock", count, 0o600)
	}
	if err := sqlitefile.Snapshot(ctx, path, made); err != nil {
		return "", fmt.Errorf("%w: read %s: %w", quota.ErrUnavailable, path, err)
	}
	if c.made == nil {
		c.made = map[string]string{}
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

// remove removes the copies. It does not wait long for a check that hangs while it copies.
func (c *copies) remove() {
	for range 10 {
		if c.mu.TryLock() {
			for _, dir := range c.dirs {
				_ = os.RemoveAll(dir)
			}
			c.mu.Unlock()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// originals names the files that were meant where a text names their copies.
func (c *copies) originals(text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for path, made := range c.made {
		text = strings.ReplaceAll(text, made, path)
	}
	return text
}
