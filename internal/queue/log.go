package queue

import (
	"context"
	"log/slog"
	"strings"
)

// warnings is a log with only River's warnings and errors: what becomes of slots is for others to say. River reports
// each call that the end of the service cancels as an error; those are left out.
type warnings struct{ slog.Handler }

func onlyWarnings(log *slog.Logger) *slog.Logger { return slog.New(warnings{log.Handler()}) }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (w warnings) Handle(ctx context.Context, r slog.Record) error {
	cancelled := false
	r.Attrs(func(a slog.Attr) bool {
		cancelled = strings.HasSuffix(a.Value.String(), context.Canceled.Error())
		return !cancelled
	})
	if cancelled {
		return nil
	}
	return w.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
