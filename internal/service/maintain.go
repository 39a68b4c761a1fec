package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
)

const (
	// askWithin is how long the ledger may take to answer.
	askWithin = 10 * time.Second
	// maintainEvery is the least pause between two rounds of maintenance: a queue's workers pause after every slot, and
	// each round reads the newest slots of all series.
	maintainEvery = time.Second
)

// runMaintenance does the slow work at every heartbeat, and when the workers have news, until ctx is done: it opens
// files that could not be opened, asks the ledger, and tells the service manager and the dead man's switch.
func (s *Service) runMaintenance(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.maintain:
		}
		if s.state.read().runtime == nil {
			if err := s.open(ctx); err != nil && !s.endIfOutdated(ctx, err) {
				s.warnNotOpen(ctx, err)
			}
			s.wake()
		}
		if r := s.state.read().runtime; r != nil {
			s.askStore(ctx, r)
			s.askLedger(ctx, r)
		}
		if err := s.state.read().ledgerErr; err != nil && s.Reopen != nil && s.Reopen(err) {
			s.reopen(ctx, err)
		}
		if r := s.state.read().runtime; r != nil && r.Save != nil {
			r.Save(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		notify("STATUS=" + s.status())
		s.ping(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(maintainEvery):
		}
	}
}

func (s *Service) askMaintenance() {
	select {
	case s.maintain <- struct{}{}:
	default: // a request is under way
	}
}

// askStore checks whether this program may still work with the store: an idle one would not notice otherwise.
func (s *Service) askStore(ctx context.Context, r *Runtime) {
	within, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	_, err := r.Store.Check(within)
	s.endIfOutdated(ctx, err)
}

// askLedger asks the ledger for a report, which also detects a Redis that has lost its data.
func (s *Service) askLedger(ctx context.Context, r *Runtime) {
	within, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	left, err := r.Ledger.Report(within)
	if err == nil {
		err = left.Degraded
	}
	if ctx.Err() != nil || s.endIfOutdated(ctx, err) {
		return
	}
	var now standing.Standing
	if r.Stand != nil && err == nil {
		now, _ = r.Stand(within, s.site.Standing(within).Facts, left) // a missing price was reported at the start
	}
	if !r.Hooks.Idle() {
		if now.Now.IsZero() {
			now = s.site.Standing(within)
		}
		r.Hooks.Note(ctx, now.Now, now.Situations())
	}
	before := s.state.read()
	s.state.update(func(st *state) {
		st.ledgerAnswered(left, err, time.Now())
		st.pace, st.forecast = now.Pace, now.Forecast
	})
	if pacing := now.Pace.String(); (pacing == "") != (before.pace.String() == "") {
		msg := "slowing down to save quota"
		if pacing == "" {
			msg = "fetching at the configured pace again"
		}
		s.log.InfoContext(ctx, msg, slog.String("pacing", pacing))
	}
	switch {
	case err != nil && before.ledgerErr == nil:
		s.log.WarnContext(ctx, "the ledger cannot answer: "+report.WithoutLedger(left.EmergencyLeft),
			report.LogAttrs(err, standing.LedgerSilent)...)
	case err == nil && before.ledgerErr != nil:
		s.log.WarnContext(ctx, "the ledger answers again")
	}
}

// status describes the service in one line, for systemctl status.
func (s *Service) status() string { return report.StatusLine(s.site.Standing(context.Background())) }
