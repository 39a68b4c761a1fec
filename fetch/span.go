package fetch

import (
	"context"
	"log/slog"
	"time"
)

// Trace begins a span: "pass" is one attempt at one slot, and each "take", "call" and "save" within it has its own.
// Spans begun with inside are its children. end is called once, soon after the work: err is why it failed, or nil.
type Trace func(ctx context.Context, span string) (inside context.Context, end func(err error, attrs ...slog.Attr))

// span begins a span of Trace. With a log of level debug, its end is logged too.
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
