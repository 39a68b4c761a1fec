package service

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
	"time"
)

// repeatAfter is when the same warning is worth another line: what is wrong at every heartbeat must not bury the rest.
const repeatAfter = time.Hour

// newLogs makes two loggers that write to w. The first one writes what happens or, when quiet, only what is wrong;
// the second one, for those whose good news has lines of its own, always writes only what is wrong.
func newLogs(w io.Writer, quiet bool) (log, warnings *slog.Logger) {
	lines := &deduplicator{w: w, written: map[string]time.Time{}}
	warnings = slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if quiet {
		return warnings, warnings
	}
	return slog.New(slog.NewTextHandler(lines, nil)), warnings
}

// deduplicator leaves out warnings that it wrote within the last hour. A slog.TextHandler writes each record in one
// piece, and begins it with its time and level.
type deduplicator struct {
	w io.Writer

	mu      sync.Mutex
	written map[string]time.Time // when each warning was, without its own time
}

func (d *deduplicator) Write(line []byte) (int, error) {
	const most = 1000 // warnings remembered
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, text, _ := bytes.Cut(line, []byte(" ")); !bytes.HasPrefix(text, []byte("level=INFO")) {
		if last, ok := d.written[string(text)]; ok && time.Since(last) < repeatAfter {
			return len(line), nil
		}
		if len(d.written) >= most {
			clear(d.written)
		}
		d.written[string(text)] = time.Now()
	}
	return d.w.Write(line)
}
