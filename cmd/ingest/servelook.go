package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
)

const (
	lookWithin = 10 * time.Second // one look at the ledger
	pingEvery  = 55 * time.Second // a little less than every second heartbeat
	catchUp    = 5 * time.Minute  // of work at what is stale, before that is a failure: a laptop that slept
)

// tend looks, at every heartbeat, at all that may take a while: the ledger, the files that could not be
// opened, the service manager's line, the dead man's switch.
func (s *service) tend(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.tending:
		}
		if s.opened() == nil {
			if err := s.open(ctx); err != nil {
				s.warnClosed(ctx, err)
			}
			s.wake()
		}
		s.look(ctx)
		if ctx.Err() != nil {
			return
		}
		s.manager.send(s.status())
		s.ping(ctx)
	}
}

func (s *service) warnClosed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		s.log.WarnContext(ctx, "nothing is fetched until this is mended", slog.Any("error", err))
	}
}

func (s *service) opened() *fetchRuntime {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.works
}

// look asks the ledger, which costs nothing, and notices a Redis that has forgotten.
func (s *service) look(ctx context.Context) {
	w := s.opened()
	if w == nil {
		return
	}
	within, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	r, err := w.governor.Report(within)
	if err == nil {
		err = r.Degraded
	}
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	before := s.know.ledgerErr
	s.know.looked, s.know.report, s.know.ledgerErr = time.Now(), r, err
	s.mu.Unlock()
	switch {
	case err != nil && before == nil:
		s.log.WarnContext(ctx, "the ledger cannot answer: cheap calls go on from the emergency budget, dear ones fail closed", slog.Any("error", err))
	case err == nil && before != nil:
		s.log.WarnContext(ctx, "the ledger answers again")
	}
}

// status is the service in one line, for systemctl status.
func (s *service) status() string {
	parts := []string{"next slot " + term.Stamp(s.plan.Next(s.clock.Now()))}
	s.mu.Lock()
	k := s.know
	s.mu.Unlock()
	switch {
	case k.unopened != nil:
		parts = append(parts, "not open: "+k.unopened.Error())
	case k.ledgerErr != nil:
		parts = append(parts, "ledger degraded")
	case !k.looked.IsZero():
		parts = append(parts, remaining(k.report))
	}
	if k.keyErr != nil {
		parts = append(parts, "key refused")
	}
	if f, err := s.site.Freshness(context.Background()); err == nil {
		if stale := f.Stale(); len(stale) > 0 {
			var names []string
			for _, state := range stale {
				names = append(names, state.Name())
			}
			parts = append(parts, "stale: "+strings.Join(names, ", "))
		} else {
			parts = append(parts, "nothing stale")
		}
	}
	const most = 300
	return "STATUS=" + term.Fit(strings.Join(parts, "; "), most)
}

// remaining is what is left for the schedule: "9,468 units left".
func remaining(r quota.Report) string {
	left := map[string]int64{}
	for _, p := range r.Pools {
		left[p.Pool] = p.Remaining[quota.Scheduled]
	}
	return term.Amounts(left) + " left"
}

// ping tells the switch how it goes: after every round that did something, and every minute. Not before
// the first round has ended: a service that hangs in it shall not be taken for well.
func (s *service) ping(ctx context.Context) {
	s.mu.Lock()
	k := s.know
	due := (k.rested || k.unopened != nil) && (k.worked || time.Since(k.pinged) >= pingEvery)
	if due {
		s.know.worked, s.know.pinged = false, time.Now()
	}
	s.mu.Unlock()
	if !due || s.deadman == nil {
		return
	}
	signal, head := "", "well\n"
	lines, failing := s.verdict(ctx, k)
	if failing {
		signal, head = "fail", "failing\n"
	}
	s.deadman.post(ctx, signal, s.pingHead("serve")+head+strings.Join(lines, "\n")+"\n")
}

// sendFailure tells the switch that the service could not start.
func (s *service) sendFailure(ctx context.Context, err error) {
	if s.deadman == nil || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, pingAtExit)
	defer cancel()
	s.deadman.post(ctx, "fail", s.pingHead("serve")+"cannot start\n"+term.Clean(err.Error())+"\n")
}

// verdict is what a person who watches the switch wants to know. Running out of quota is a good day, and
// so is a region that is stale for that; what failed, or closed, is not.
func (s *service) verdict(ctx context.Context, k knowledge) (lines []string, failing bool) {
	_, results := s.site.Ready(ctx)
	for _, r := range results {
		if !r.OK && r.Check != "freshness" {
			failing = true
			lines = append(lines, r.Check+": "+r.Detail)
		}
	}
	if k.restErr != nil {
		lines = append(lines, "the workers rest: "+term.Clean(k.restErr.Error()))
		// An upstream that cannot be reached for a moment is no failure yet: then something is stale.
		failing = failing || !errors.As(k.restErr, new(*fetch.Error))
	}
	f, err := s.site.Freshness(ctx)
	if err != nil {
		return append(lines, term.Clean(err.Error())), true
	}
	for _, state := range f.Series {
		switch {
		case state.Outcome == ingest.Stopped:
			lines = append(lines, fmt.Sprintf("%s stopped by quota: %s", state.Name(), state.Reason))
		case state.Outcome == ingest.Failed || state.Stale:
			catching := state.Outcome != ingest.Failed && !k.busy.IsZero() && time.Since(k.busy) < catchUp
			failing = failing || !catching
			line := state.String()
			if state.Outcome != "" && state.Outcome != ingest.Done {
				line += fmt.Sprintf(", %s: %s", state.Outcome, state.Reason)
			}
			lines = append(lines, line)
		}
	}
	return append(lines, strings.TrimPrefix(s.status(), "STATUS=")), failing
}
