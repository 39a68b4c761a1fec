package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/term"
)

const (
	pingEvery  = 55 * time.Second // a little less than every second heartbeat
	catchUpFor = 5 * time.Minute  // how long stale data are no failure while the workers catch up, as on a laptop that slept
)

// ping tells the dead man's switch how things are, if that is due.
func (s *Service) ping(ctx context.Context) {
	var st state
	due := false
	s.state.update(func(now *state) {
		if st, due = *now, now.pingDue(); due {
			now.news, now.pinged = false, time.Now()
		}
	})
	if !due || s.Pinger == nil {
		return
	}
	signal, head := "", "well\n"
	lines, failing := s.healthLines(ctx, st)
	if failing {
		signal, head = "fail", "failing\n"
	}
	_ = s.Pinger.post(ctx, signal, "serve", head+strings.Join(lines, "\n")+"\n")
}

// ReportFailedStart tells the dead man's switch that the service could not start.
func (s *Service) ReportFailedStart(ctx context.Context, err error) {
	if s.Pinger == nil || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastPingWithin)
	defer cancel()
	_ = s.Pinger.post(ctx, "fail", "serve", "cannot start\n"+term.Clean(err.Error())+"\n")
}

// healthLines returns what a person who watches the switch wants to know. Running out of quota is no failure, and
// neither is a region that is stale for that reason; what failed, or is closed, is one.
func (s *Service) healthLines(ctx context.Context, st state) (lines []string, failing bool) {
	_, results := s.site.Ready(ctx)
	for _, r := range results {
		if r.OK || r.Check == "freshness" {
			continue
		}
		lines = append(lines, r.Check+": "+r.Detail)
		failing = failing || r.Check != "upstream" // if that stays silent, something becomes stale
	}
	if st.restErr != nil {
		lines = append(lines, s.restReason())
		failing = failing || !errors.As(st.restErr, new(*fetch.Error))
	}
	f, err := s.site.Freshness(ctx)
	if err != nil {
		return append(lines, term.Clean(err.Error())), true
	}
	catchingUp := !st.busySince.IsZero() && time.Since(st.busySince) < catchUpFor
	for _, series := range f.Series {
		if series.Outcome == ingest.Stopped {
			lines = append(lines, fmt.Sprintf("%s stopped by quota: %s", series.Name(), series.Reason))
		} else if series.Outcome == ingest.Failed || series.Stale {
			lines = append(lines, series.WithReason())
			failing = failing || series.Outcome == ingest.Failed || !catchingUp
		}
	}
	return append(lines, s.status()), failing
}
