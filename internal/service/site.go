package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/regions"
)

// silentBeats is how many heartbeats an upstream may give no answer before it counts as unreachable.
const silentBeats = 3

var (
	errNotOpen  = errors.New("not open yet")
	errNotAsked = errors.New("not asked yet")
)

// newSite returns the site that the service shows at its address, and that judges the service's health.
func (s *Service) newSite() *web.Site {
	if s.API != nil {
		s.API.Library = s.library
	}
	site := &web.Site{
		API: s.API, Hosts: s.Hosts, BasePath: s.BasePath, Proxies: s.Proxies,
		Now: s.Now, Alive: s.checkAlive, Facts: s.facts,
		Checks: []web.Check{{Name: "store", Look: s.checkStore}, {Name: "ledger", Look: s.checkLedger}, {Name: "key", Look: s.checkKey}, {Name: "workers", Look: s.checkWorkers}},
	}
	site.Status = &web.Status{
		Now: s.Now, Version: s.Version, Source: s.source, Facts: s.facts,
		Degraded: func() time.Duration { return s.state.read().degradedFor(time.Now()) },
	}
	site.Pages = &s.Pages
	s.Pages.Library = s.library
	s.Pages.Now, s.Pages.Version, s.Pages.Moved, s.Pages.Overall = s.Now, s.Version, s.Moved, site.Status.Overall
	s.Pages.Fresh = site.Status.Regions
	if s.AccessLog {
		site.AccessLog = s.log
	}
	if s.API != nil && s.API.Limiter != nil {
		site.Status.Limits = s.API.Limiter.Stats
	}
	return site
}

// restReason says why the workers could not go on, and when they try again; nil if they can, or if the upstream is the
// reason: other checks say that. They write to the store, which all else only reads.
func (s *Service) restReason() error {
	st := s.state.read()
	if st.idle != nil {
		return fmt.Errorf("this machine does not work: %w", st.idle)
	}
	err := st.restErr
	if _, upstream := errors.AsType[*fetch.Error](err); err == nil || upstream {
		return nil
	}
	return fmt.Errorf("the workers rest until %s: %w", term.StampFrom(s.Now().Add(s.heartbeat)), err)
}

// facts reads the store. Of the ledger it repeats the last answer: a request must not make the ledger work.
func (s *Service) facts(ctx context.Context) standing.Facts {
	st := s.state.read()
	f := standing.Facts{Now: s.Now(), StaleAfter: s.StaleAfter, Provider: s.Upstream, Silence: silentBeats * s.heartbeat,
		Pace: st.pace, Report: st.report, Forecast: st.forecast, Resting: s.restReason()}
	f.Pace.Schedule, f.Report.Degraded = s.paced(), st.ledgerErr
	r, err := s.readable()
	if err == nil {
		_, err = r.Store.Check(ctx) // the newest slots alone would still look fresh
	}
	if err == nil {
		f.Latest, err = r.Store.Latest(ctx)
	}
	if err == nil && r.Source.Calls != nil {
		if f.Calls, err = r.Source.Calls(ctx); err == nil {
			f.Contact = new(f.Calls.Contact())
		}
	}
	if err == nil {
		f.Idle, err = s.othersIdle(ctx)
	}
	f.StoreErr = err
	return f
}

// readable returns the runtime that can be read now, or why none can.
func (s *Service) readable() (*Runtime, error) {
	switch st := s.state.read(); {
	case st.runtime != nil:
		return st.runtime, nil
	case st.reader != nil:
		return st.reader, nil
	case st.openErr != nil:
		return nil, st.openErr
	}
	return nil, errNotOpen
}

// fromReadable returns what read finds in the runtime that can be read now, or why none can.
func fromReadable[T any](s *Service, read func(*Runtime) (T, error)) (found T, err error) {
	r, err := s.readable()
	if err != nil {
		return found, err
	}
	return read(r)
}

func (s *Service) source() (*web.Source, error) {
	return fromReadable(s, func(r *Runtime) (*web.Source, error) { return r.Source, nil })
}

func (s *Service) library() (*report.Library, error) {
	return fromReadable(s, func(r *Runtime) (*report.Library, error) { return r.Library, nil })
}

func (s *Service) calls(ctx context.Context) (ingest.CallStats, error) {
	source, err := s.source()
	if err != nil || source.Calls == nil {
		return nil, err
	}
	return source.Calls(ctx)
}

func (s *Service) checkStore(ctx context.Context) (string, error) {
	return fromReadable(s, func(r *Runtime) (string, error) {
		path, err := r.Store.Check(ctx)
		if err == nil {
			err = r.Store.Room()
		}
		return path, err
	})
}

// checkLedger repeats the ledger's last answer: a request must not make the ledger work.
func (s *Service) checkLedger(context.Context) (string, error) {
	st := s.state.read()
	since := time.Since(st.askedLedger).Round(time.Second)
	switch {
	case st.openErr != nil:
		return "", st.openErr
	case st.askedLedger.IsZero():
		return "", errNotAsked
	case st.ledgerErr != nil:
		return "", fmt.Errorf("degraded, %s: %w", report.WithoutLedger(st.report.EmergencyLeft), st.ledgerErr)
	case since > 2*s.heartbeat+askWithin:
		return "", fmt.Errorf("has not answered for %v", since)
	}
	return fmt.Sprintf("%s, %v ago", remaining(st.report), since), nil
}

func (s *Service) checkKey(ctx context.Context) (string, error) {
	calls, _ := s.calls(ctx)
	switch st := s.state.read(); {
	case st.keyErr != nil:
		return "", st.keyErr
	case st.keyAccepted:
		return "accepted", nil
	case calls.Contact().KeyRefused():
		return "", errors.New(s.Upstream + " refused it when it was last asked")
	default:
		return "not refused so far", nil
	}
}

func (s *Service) checkWorkers(ctx context.Context) (string, error) {
	says := "can go on"
	idle, _ := s.othersIdle(ctx) // an error is the store's, whose check says it
	for _, other := range idle {
		says += "; " + other.String()
	}
	return says, cmp.Or(s.restReason(), s.state.read().openErr)
}

// paced returns the schedule as the newest report of the ledger stretches it.
func (s *Service) paced() regions.Schedule {
	if paced := s.state.read().pace.Schedule; paced != nil {
		return paced
	}
	return s.Schedule
}

// othersIdle returns the other machines that do not work.
func (s *Service) othersIdle(ctx context.Context) ([]ingest.IdleMachine, error) {
	if r := s.state.read().runtime; r != nil && r.OtherIdle != nil {
		return r.OtherIdle(ctx)
	}
	return nil, nil
}
