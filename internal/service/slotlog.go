package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/term"
)

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
