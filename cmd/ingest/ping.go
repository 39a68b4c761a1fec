package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/hooks"
	"github.com/trendvidstream/ingest/internal/service"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

// newPinger returns the dead man's switch; nil if none is configured.
func (a *app) newPinger(log *slog.Logger) (*service.Pinger, error) {
	check, err := a.cfg.PingURL()
	return service.NewPinger(check, version, config.Hostname(), log), err
}

// beginPing tells the dead man's switch, if configured, that a run has begun. end reports how it ended and returns err
// unchanged. Only a wrong configuration is an error.
//
// A stop by quota counts as success: the switch gets exit status 0, with the reason in the summary.
func (a *app) beginPing(ctx context.Context) (end func(summary string, err error) error, err error) {
	p, err := a.newPinger(a.log())
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

// sender returns the sender of the configured hooks.
func (a *app) sender(s *store.Store) *hooks.Sender {
	return &hooks.Sender{Hooks: a.cfg.Hooks, Store: s, Owner: config.RunName(), Died: config.RunDied,
		Now: a.clock.Now, Log: a.log(), Version: version}
}
