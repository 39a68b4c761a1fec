package fetch

import (
	"context"
	"log/slog"
	"time"
)

// logStep begins a step of the work: "pass" for one attempt at one slot, and "take", "call" and "save" within it. end
// logs it at level debug, with its error or nil and how long it took.
func (r *Reconciler) logStep(ctx context.Context, name string) (end func(err error, attrs ...slog.Attr)) {
	if r.Log == nil || !r.Log.Enabled(ctx, slog.LevelDebug) {
		return func(error, ...slog.Attr) {}
	}
	began := time.Now()
	return func(err error, attrs ...slog.Attr) {
		attrs = append(attrs, slog.Int64("ms", time.Since(began).Milliseconds()))
		if err != nil {
			attrs = append(attrs, slog.String("error", err.Error()))
		}
		r.Log.LogAttrs(ctx, slog.LevelDebug, name, attrs...)
	}
}
