package service

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/term"
)

// slotLog writes a line per slot that has ended, once: a slot that is stopped at every heartbeat is not news.
type slotLog struct {
	log    *slog.Logger
	onSlot func(fetch.SlotResult, time.Duration) error // may be nil

	mu      sync.Mutex
	claimed map[ingest.Series]time.Time // when its slot was claimed
	last    map[ingest.Series]outcome   // what was written of it
}

// outcome is how a slot of a series has ended.
type outcome struct {
	dueAt time.Time
	state ingest.State
}

func newSlotLog(log *slog.Logger, onSlot func(fetch.SlotResult, time.Duration) error) *slotLog {
	return &slotLog{log: log, onSlot: onSlot, claimed: map[ingest.Series]time.Time{}, last: map[ingest.Series]outcome{}}
}

// ended returns how long the pass of a slot took, and whether its outcome is news.
func (l *slotLog) ended(r fetch.SlotResult) (took time.Duration, news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := outcome{r.DueAt, r.State}
	news = l.last[r.Series()] != now
	l.last[r.Series()] = now
	return time.Since(l.claimed[r.Series()]), news
}

// write logs a slot that has ended. One that was only given back has not: the reason is logged once for all of them.
func (l *slotLog) write(r fetch.SlotResult, took time.Duration) {
	level := slog.LevelInfo
	switch r.State {
	case ingest.Due:
		return
	case ingest.Stopped, ingest.Failed:
		level = slog.LevelWarn
	default:
	}
	attrs := []slog.Attr{slog.String("job", r.Job)}
	if r.Key != "" {
		attrs = append(attrs, slog.String("region", r.Key))
	}
	attrs = append(attrs, slog.Time("slot", r.DueAt), slog.String("outcome", string(r.State)), slog.Int64("units", r.Spent),
		slog.Duration("took", took.Round(time.Millisecond)))
	if r.Reason != "" {
		attrs = append(attrs, slog.String("reason", term.Clean(r.Reason)))
	}
	l.log.LogAttrs(context.Background(), level, "slot", attrs...)
	if l.onSlot == nil {
		return
	}
	if err := l.onSlot(r, took); err != nil {
		l.log.Warn("a finished slot was not printed", slog.Any("error", err))
	}
}

// claimWatcher notes when slots are claimed.
type claimWatcher struct {
	fetch.Slots
	log *slotLog
}

func (w claimWatcher) Claim(ctx context.Context, c ingest.Claim) (ingest.Slot, bool, error) {
	slot, ok, err := w.Slots.Claim(ctx, c)
	if ok {
		w.log.mu.Lock()
		defer w.log.mu.Unlock()
		w.log.claimed[slot.Series()] = time.Now()
	}
	return slot, ok, err
}
