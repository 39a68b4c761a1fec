package main

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
)

// sayAgain is after how long the same warning is worth another line: what is wrong at every heartbeat
// must not bury the rest.
const sayAgain = time.Hour

// serveLog writes to standard error: what happens, or with --quiet what is wrong only.
func (a *app) serveLog() *slog.Logger {
	level := slog.LevelInfo
	if a.quiet {
		level = slog.LevelWarn
	}
	return slog.New(&seldom{Handler: slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}), said: &said{at: map[string]time.Time{}}})
}

// greet says what the service is and where, once.
func (s *service) greet(address string) {
	if address == "" {
		address = "nowhere"
	}
	var jobs []string
	for _, job := range s.cfg.Jobs {
		jobs = append(jobs, job.Name)
	}
	s.log.Info("ingest serves", slog.String("data", s.cfg.Data), slog.String("ledger", ledgerName(s.cfg.Ledger)),
		slog.String("jobs", strings.Join(jobs, ",")), slog.Time("next", s.plan.Next(s.clock.Now())), slog.String("listen", address))
}

// outcome is what a series has come to.
type outcome struct {
	dueAt time.Time
	state ingest.State
}

// tell logs a slot that has ended, and prints it where JSON is wanted. A slot that was only given back
// has not: why that was is logged for all of them at once.
func (s *service) tell(w fetch.SlotResult, took time.Duration) {
	level := slog.LevelInfo
	switch w.State {
	case ingest.Due:
		return
	case ingest.Stopped, ingest.Failed:
		level = slog.LevelWarn
	default:
	}
	attrs := []slog.Attr{slog.String("job", w.Job)}
	if w.Key != "" {
		attrs = append(attrs, slog.String("region", w.Key))
	}
	attrs = append(attrs, slog.Time("slot", w.DueAt), slog.String("outcome", string(w.State)), slog.Int64("units", w.Spent),
		slog.Duration("took", took.Round(time.Millisecond)))
	if w.Reason != "" {
		attrs = append(attrs, slog.String("reason", term.Clean(w.Reason)))
	}
	s.log.LogAttrs(context.Background(), level, "slot", attrs...)
	if !s.json {
		return
	}
	doc := slotEvent{newSlotDocument(w.Slot), took.Milliseconds()}
	doc.Units = w.Spent
	if err := s.printJSON(doc); err != nil {
		s.log.Warn("a finished slot was not printed", slog.Any("error", err))
	}
}

// slotEvent is a finished slot as serve --json prints it, one a line.
type slotEvent struct {
	slotDocument
	TookMS int64 `json:"took_ms"`
}

// seldom leaves out warnings that it has just written.
type seldom struct {
	slog.Handler
	said *said
	with string // the attributes that a logger was given
}

// said is when each warning was last written.
type said struct {
	mu sync.Mutex
	at map[string]time.Time
}

func (h *seldom) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		text := h.with + "\x00" + r.Message
		r.Attrs(func(a slog.Attr) bool {
			text += "\x00" + a.String()
			return true
		})
		if !h.said.news(text, r.Time) {
			return nil
		}
	}
	return h.Handler.Handle(ctx, r)
}

func (s *said) news(text string, now time.Time) bool {
	const most = 1000 // texts remembered
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.at[text]; ok && now.Sub(last) < sayAgain {
		return false
	}
	if len(s.at) >= most {
		clear(s.at)
	}
	s.at[text] = now
	return true
}

func (h *seldom) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := h.with
	for _, a := range attrs {
		with += "\x00" + a.String()
	}
	return &seldom{h.Handler.WithAttrs(attrs), h.said, with}
}

func (h *seldom) WithGroup(name string) slog.Handler {
	return &seldom{h.Handler.WithGroup(name), h.said, h.with + "\x00" + name}
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
