package service

import (
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
		s.API.Documents = s.documents
	}
	site := &web.Site{
		API: s.API, Hosts: s.Hosts, BasePath: s.BasePath, Proxies: s.Proxies,
		Now: s.Now, Alive: s.checkAlive, Facts: s.facts, Process: s.process,
	}
	site.Status = &web.Status{
		Now: s.Now, Version: s.Version, Source: s.source,
		Facts:    func(ctx context.Context) standing.Facts { return site.Standing(ctx).Facts },
		Degraded: func() time.Duration { return s.state.read().degradedFor(time.Now()) },
	}
	site.Pages = &s.Pages
	s.Pages.Documents = s.documents
	s.Pages.Now, s.Pages.Version, s.Pages.Moved, s.Pages.Overall = s.Now, s.Version, s.Moved, site.Status.Overall
	s.Pages.Fresh = site.Status.Regions
	if s.AccessLog {
		site.AccessLog = s.log
	}
	if s.API != nil && s.API.Limiter != nil {
		site.Status.Limits, s.API.Limiter.Log = s.API.Limiter, s.log
	}
	return site
}

// pauseReason says why the workers could not go on, and when they try again; nil if they can, or if the upstream is the
// reason: other checks say that. Only the workers write to the store.
func (s *Service) pauseReason() error {
	st := s.state.read()
	if st.idle != nil {
		return fmt.Errorf("this machine does not work: %w", st.idle)
	}
	err := st.pauseErr
	if _, upstream := errors.AsType[*fetch.Error](err); err == nil || upstream {
		return nil
	}
	return fmt.Errorf("the workers pause until %s: %w", term.StampFrom(s.Now().Add(s.heartbeat)), err)
}

// process adds this process's knowledge. For the ledger it repeats the last answer: a request must not make the
// ledger work.
func (s *Service) process(f *standing.Facts) {
	st := s.state.read()
	f.Pace, f.Report, f.Forecast = st.pace, st.report, st.forecast
	f.LedgerAge, f.LedgerWithin = time.Since(st.askedLedger), 2*s.heartbeat+askWithin
	f.Paused, f.NotOpen, f.KeyErr = public(s.pauseReason()), public(st.openErr), public(st.keyErr)
	f.Report.Degraded, f.LedgerErr = public(st.ledgerErr), public(st.openErr)
	if f.LedgerErr == nil && st.askedLedger.IsZero() {
		f.LedgerErr = errNotAsked
	}
	if f.Pace.Schedule == nil {
		f.Pace.Schedule = s.Schedule
	}
}

func (s *Service) facts(ctx context.Context) standing.Facts {
	f := standing.Facts{Now: s.Now(), StaleAfter: s.StaleAfter, Provider: s.Upstream, Silence: silentBeats * s.heartbeat}
	r, err := s.readable()
	if err == nil {
		f.StorePath, err = r.Store.Check(ctx) // the newest slots alone would still look fresh
	}
	if f.StoreErr = err; err == nil {
		f.Room = r.Store.Room()
		f.ReadStore(ctx, r.Store)
	}
	if f.StoreErr == nil {
		f.Idle, f.StoreErr = s.othersIdle(ctx)
	}
	f.StorePath, f.StoreErr, f.Room = term.WithoutDirectories(f.StorePath), public(f.StoreErr), public(f.Room)
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

// fromReadable returns read's result from the runtime that can be read now, or why none can.
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

func (s *Service) documents() (*report.Documents, error) {
	return fromReadable(s, func(r *Runtime) (*report.Documents, error) { return r.Documents, nil })
}

// othersIdle returns the other machines that do not work.
func (s *Service) othersIdle(ctx context.Context) ([]ingest.IdleMachine, error) {
	if r := s.state.read().runtime; r != nil && r.OtherIdle != nil {
		return r.OtherIdle(ctx)
	}
	return nil, nil
}
