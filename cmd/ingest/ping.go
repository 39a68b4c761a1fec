package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/service"
	"github.com/trendvidstream/ingest/internal/term"
)

// newPinger is nil where no dead man's switch is configured.
func newPinger(c *config.Config, log *slog.Logger) (*service.Pinger, error) {
	address, err := c.PingURL()
	if err != nil || address.IsZero() {
		return nil, err
	}
	return service.NewPinger(address, version, log), nil
}

// beginPing tells the dead man's switch, where one is configured, that a run has begun, and returns how to tell it of
// the end: end(summary, err) returns err as it is. Only a switch that is configured wrongly is refused.
//
// A day stopped by quota is a good day: the switch is told exit status 0, with the reason in the summary.
func (a *app) beginPing(ctx context.Context) (end func(summary string, err error) error, err error) {
	p, err := newPinger(a.cfg, a.log())
	if err != nil {
		return nil, err
	}
	endRun := p.BeginRun(ctx)
	return func(summary string, err error) error {
		code := exitCode(endedBy(ctx, err))
		text := fmt.Sprintf("exit %d\n", code)
		if !silent(err) {
			text += term.Clean(err.Error()) + "\n"
		}
		if code == exitStopped {
			code = exitOK
		}
		endRun(code, text+summary)
		return err
	}, nil
}
