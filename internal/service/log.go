package service

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/term"
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

// slotLog writes a line per slot that has ended, once: a slot that is stopped again at every heartbeat is not news.
type slotLog struct {
	log    *slog.Logger
	onSlot func(fetch.SlotResult) error // may be nil
	last   map[ingest.Series]outcome    // what was written of each
}

// outcome is how a slot of a series has ended.
type outcome struct {
	dueAt time.Time
	state ingest.State
}

// write reports whether the result is news. A slot that was only given back has not ended: the reason is logged once
// for all of them.
func (l slotLog) write(r fetch.SlotResult) (news bool) {
	now := outcome{r.DueAt, r.State}
	news = l.last[r.Series()] != now
	l.last[r.Series()] = now
	if !news || r.State == ingest.Due {
		return false
	}
	level := slog.LevelInfo
	if r.State == ingest.Stopped || r.State == ingest.Failed {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{slog.String("job", r.Job)}
	if r.Key != "" {
		attrs = append(attrs, slog.String("region", r.Key))
	}
	attrs = append(attrs, slog.Time("slot", r.DueAt), slog.String("outcome", string(r.State)), slog.Int64("units", r.Spent),
		slog.Duration("took", r.Took.Round(time.Millisecond)))
	if r.Reason != "" {
		attrs = append(attrs, slog.String("reason", term.Clean(r.Reason)))
	}
	l.log.LogAttrs(context.Background(), level, "slot", attrs...)
	if l.onSlot != nil {
		if err := l.onSlot(r); err != nil {
			l.log.Warn("a finished slot was not printed", slog.Any("error", err))
		}
	}
	return true
}
