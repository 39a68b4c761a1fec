package fetch

import (
	"context"
	"log/slog"
	"time"
)

// Trace begins a span: "pass" for one attempt at one slot, and "take", "call" and "save" within it. Spans begun with
// inside are its children. end is called once, soon after the work, with its error or nil.
type Trace func(ctx context.Context, span string) (inside context.Context, end func(err error, attrs ...slog.Attr))

// span begins a span of Trace, and also logs its end at level debug.
func (r *Reconciler) span(ctx context.Context, name string) (context.Context, func(error, ...slog.Attr)) {
	inside, end := ctx, func(error, ...slog.Attr) {}
	if r.Trace != nil {
		inside, end = r.Trace(ctx, name)
	}
	if r.Log == nil || !r.Log.Enabled(ctx, slog.LevelDebug) {
		return inside, end
	}
	began := time.Now()
	return inside, func(err error, attrs ...slog.Attr) {
		end(err, attrs...)
		attrs = append(attrs, slog.Int64("ms", time.Since(began).Milliseconds()))
		if err != nil {
			attrs = append(attrs, slog.String("error", err.Error()))
		}
		r.Log.LogAttrs(ctx, slog.LevelDebug, name, attrs...)
	}
}
