package main

import (
	"context"
	"errors"
	"time"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/tracing"
)

// How long the last spans may delay the end of the program, and by when after a signal they must be sent.
const (
	lastSpansWithin = 2 * time.Second
	lastSpansBy     = 4800 * time.Millisecond
)

// openTraces begins to send spans, if that is configured and has not begun yet.
func (a *app) openTraces(ctx context.Context) error {
	endpoint, err := tracing.Endpoint(a.cfg.OTLP)
	if err == nil && a.traces == nil {
		a.traces, err = tracing.Open(context.WithoutCancel(ctx), endpoint, version, a.log())
	}
	return config.Invalid(err)
}

// closeTraces sends the last spans of a run that ended with err.
func (a *app) closeTraces(err error) {
	left := lastSpansWithin
	if s, ok := errors.AsType[signalled](err); ok {
		left = min(left, lastSpansBy-time.Since(s.at))
	}
	ctx, cancel := context.WithTimeout(context.Background(), left)
	defer cancel()
	a.traces.Close(ctx)
}
