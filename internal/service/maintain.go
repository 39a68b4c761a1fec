package service

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

const (
	// askWithin is how long the ledger may take to answer.
	askWithin = 10 * time.Second
	// maintainEvery is the least pause between two rounds of maintenance: a queue's workers rest after every slot, and
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
	default: // it is asked already
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
		now, _ = r.Stand(within, left) // a price that is missing was said at the start
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
		s.log.WarnContext(ctx, "the ledger cannot answer: "+report.WithoutLedger(left.EmergencyLeft), slog.Any("error", err))
	case err == nil && before.ledgerErr != nil:
		s.log.WarnContext(ctx, "the ledger answers again")
	}
}

// status describes the service in one line, for systemctl status.
func (s *Service) status() string {
	parts := []string{"next slot " + term.Stamp(s.paced().Next(s.Now()))}
	st := s.state.read()
	if pacing := st.pace.String(); pacing != "" {
		parts = append(parts, pacing)
	}
	switch {
	case st.openErr != nil:
		parts = append(parts, "not open: "+st.openErr.Error())
	case st.ledgerErr != nil:
		parts = append(parts, "ledger degraded: "+report.WithoutLedger(st.report.EmergencyLeft))
	case !st.askedLedger.IsZero():
		parts = append(parts, remaining(st.report))
	}
	if st.keyErr != nil {
		parts = append(parts, "key refused")
	}
	if reason := s.restReason(); reason != nil {
		parts = append(parts, reason.Error())
	}
	if now := s.site.Standing(context.Background()); now.StoreErr == nil {
		if stale := report.StaleSeries(now, report.SeriesState.Name); len(stale) > 0 {
			parts = append(parts, "stale: "+strings.Join(stale, ", "))
		} else {
			parts = append(parts, "nothing stale")
		}
	}
	const most = 300
	return term.Fit(strings.Join(parts, "; "), most)
}

// remaining describes the quota left for the schedule: "9,468 units left".
func remaining(r quota.Report) string {
	left := map[string]int64{}
	for _, p := range r.Pools {
		left[p.Pool] = p.Remaining[quota.Scheduled]
	}
	return term.Amounts(left) + " left"
}
