package fetch

import (
	"context"
	"log/slog"
)

// Trace begins a span: "pass" is one attempt at one slot, and each "take", "call" and "save" within it has its own.
// Spans begun with inside are its children. end is called once, soon after the work: err is why it failed, or nil.
type Trace func(ctx context.Context, span string) (inside context.Context, end func(err error, attrs ...slog.Attr))

func (r *Reconciler) span(ctx context.Context, name string) (context.Context, func(error, ...slog.Attr)) {
	if r.Trace == nil {
		return ctx, func(error, ...slog.Attr) {}
	}
	return r.Trace(ctx, name)
}
