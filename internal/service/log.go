package service

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

// repeatAfter is when the same warning is worth another line: what is wrong at every heartbeat must not bury the rest.
const repeatAfter = time.Hour

// NewLog writes to w what happens or, when quiet, only what is wrong. A warning that repeats is written once an hour.
func NewLog(w io.Writer, quiet bool) *slog.Logger {
	level := slog.LevelInfo
	if quiet {
		level = slog.LevelWarn
	}
	text := slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})
	return slog.New(&deduplicator{Handler: text, written: &written{at: map[string]time.Time{}}})
}

// deduplicator leaves out warnings that it has just written.
type deduplicator struct {
	slog.Handler
	written *written
	with    string // the attributes that a logger was given
}

// written is when each warning was last written.
type written struct {
	mu sync.Mutex
	at map[string]time.Time
}

func (d *deduplicator) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		text := d.with + "\x00" + r.Message
		r.Attrs(func(a slog.Attr) bool {
			text += "\x00" + a.String()
			return true
		})
		if !d.written.isNew(text, r.Time) {
			return nil
		}
	}
	return d.Handler.Handle(ctx, r)
}

func (w *written) isNew(text string, now time.Time) bool {
	const most = 1000 // texts remembered
	w.mu.Lock()
	defer w.mu.Unlock()
	if last, ok := w.at[text]; ok && now.Sub(last) < repeatAfter {
		return false
	}
	if len(w.at) >= most {
		clear(w.at)
	}
	w.at[text] = now
	return true
}

func (d *deduplicator) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := d.with
	for _, a := range attrs {
		with += "\x00" + a.String()
	}
	return &deduplicator{d.Handler.WithAttrs(attrs), d.written, with}
}

func (d *deduplicator) WithGroup(name string) slog.Handler {
	return &deduplicator{d.Handler.WithGroup(name), d.written, d.with + "\x00" + name}
}

// warningsOnly is for those who have a line of their own for what goes well.
func warningsOnly(log *slog.Logger) *slog.Logger { return slog.New(warnings{log.Handler()}) }

type warnings struct{ slog.Handler }

func (h warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

func (h warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{h.Handler.WithAttrs(attrs)}
}
func (h warnings) WithGroup(name string) slog.Handler { return warnings{h.Handler.WithGroup(name)} }
