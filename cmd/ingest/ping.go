package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/trendvidstream/ingest/internal/service"
	"github.com/trendvidstream/ingest/internal/term"
)

// newNotices returns the dead man's switch and the threshold notices; nil if they are not configured.
func (a *app) newNotices(log *slog.Logger) (*service.Pinger, *service.Thresholds, error) {
	check, err := a.cfg.PingURL()
	if err != nil {
		return nil, nil, err
	}
	webhook, err := a.cfg.WebhookURL()
	p := service.NewPinger(check, version, log)
	return p, service.NewThresholds(a.cfg.Data, webhook, p, version, a.clock.Now, log), err
}

// beginPing tells the dead man's switch, if configured, that a run has begun. end reports how it ended and returns err
// unchanged; thresholds sends the threshold notices. Only a wrong configuration is an error.
//
// A stop by quota counts as success: the switch gets exit status 0, with the reason in the summary.
func (a *app) beginPing(ctx context.Context) (end func(summary string, err error) error, thresholds *service.Thresholds, err error) {
	p, thresholds, err := a.newNotices(a.log())
	if err != nil {
		return nil, nil, err
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
	}, thresholds, nil
}
