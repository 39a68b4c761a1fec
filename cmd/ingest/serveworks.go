package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trendvidstream/ingest/internal/config"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// keyRetryMost is the longest pause until a refused key is tried again: the first is a heartbeat, each
// next one twice as long. Every try costs up to a unit per worker, and a night of them would cost the day.
const keyRetryMost = 10 * time.Minute

// service is ingest serve: the schedule wakes the workers, a second loop looks after everything else.
type service struct {
	*app
	log       *slog.Logger
	plan      regions.Plan
	site      *web.Site
	deadman   *pinger // nil: none
	manager   *manager
	heartbeat time.Duration
	beaten    atomic.Pointer[time.Time]
	tending   chan struct{}

	mu      sync.Mutex
	works   *fetchRuntime // nil: not open
	trigger func()        // wakes the workers
	wait    func()        // for the workers, at the end
	know    knowledge
	told    map[ingest.Series]outcome   // what was logged of each series
	claimed map[ingest.Series]time.Time // when its slot was claimed
}

// knowledge is what the service has learned, for its pages, its manager and its switch.
type knowledge struct {
	unopened error // why works is nil

	looked    time.Time // at the ledger; zero: never
	ledgerErr error
	report    quota.Report

	keyErr   error // the refusal; nil: none, so far
	keyTries int   // that were refused, in a row
	keyNext  time.Time
	accepted bool // a call was answered

	busy    time.Time // since when the workers are at work; zero: they rest
	rested  bool      // the workers have been through once
	restErr error     // why they could not go on
	worked  bool      // there is something new since the switch was told
	pinged  time.Time
}

// newService refuses what can be refused without a file.
func (a *app) newService() (*service, error) {
	plan, err := a.plan()
	if err != nil {
		return nil, err
	}
	if err := a.checkFits(plan); err != nil {
		return nil, err
	}
	p, err := a.pinger()
	if err != nil {
		return nil, err
	}
	m := newManager()
	s := &service{
		app: a, log: a.serveLog(), plan: plan, deadman: p, manager: m, heartbeat: heartbeat(m.watchdog),
		tending: make(chan struct{}, 1), told: map[ingest.Series]outcome{}, claimed: map[ingest.Series]time.Time{},
		wait: func() {}, trigger: func() {},
	}
	if p != nil {
		p.log = s.log
	}
	s.site = s.newSite()
	now := time.Now()
	s.beaten.Store(&now)
	return s, nil
}

// checkFits refuses a schedule that its quota does not hold.
func (a *app) checkFits(plan regions.Plan) error {
	tariff, err := a.tariff()
	if err != nil {
		return err
	}
	now := a.clock.Now()
	price, err := priceOf(plan, a.provider().calls, tariff, now, now.Add(24*time.Hour))
	if err != nil {
		return err
	}
	return config.Invalid(price.fits(tariff))
}

// open opens everything and sets the workers up. While the ledger's own file cannot be had, the service
// runs without, and tries again.
func (s *service) open(ctx context.Context) error {
	w, err := s.app.open(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.know.unopened = err; err != nil {
		return err
	}
	if ctx.Err() != nil { // close has been here
		w.close()
		return context.Cause(ctx)
	}
	w.governor.Log = s.log
	r := w.reconciler(s.app)
	r.Workers, r.Log = s.cfg.Concurrency, warningsOnly(s.log)
	r.Slots = watchedSlots{r.Slots, s}
	r.OnSlot, r.OnRest = s.onSlot, s.onRest
	s.works = w
	s.trigger, s.wait = r.Serve(ctx)
	return nil
}

// wake wakes the workers, unless the key was refused and it is not yet time to try it again.
func (s *service) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Before(s.know.keyNext) {
		return
	}
	if s.works != nil && s.know.busy.IsZero() {
		s.know.busy = now
	}
	s.trigger()
}

// onSlot hears of every slot that was worked on.
func (s *service) onSlot(w fetch.SlotResult) {
	s.mu.Lock()
	if w.State == ingest.Done && w.Spent > 0 { // a refresh may end without a call
		s.know.keyErr, s.know.keyTries, s.know.keyNext, s.know.accepted = nil, 0, time.Time{}, true
	}
	took := time.Since(s.claimed[w.Series()])
	now := outcome{w.DueAt, w.State}
	news := s.told[w.Series()] != now
	s.told[w.Series()] = now
	s.know.worked = s.know.worked || news && w.State != ingest.Due
	s.mu.Unlock()
	if news {
		s.tell(w, took)
	}
}

// onRest hears that the workers have come to an end, for now.
func (s *service) onRest(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := &s.know
	k.worked = k.worked || (err == nil) != (k.restErr == nil)
	k.busy, k.rested, k.restErr = time.Time{}, true, err
	s.noteKey(err)
	if k.worked {
		select {
		case s.tending <- struct{}{}:
		default:
		}
	}
}

// noteKey remembers that a key was refused, and when to try it again. s.mu is held.
func (s *service) noteKey(err error) {
	k := &s.know
	if call := (*fetch.Error)(nil); errors.As(err, &call) && call.Verdict == fetch.BadKey {
		pause := min(s.heartbeat<<min(k.keyTries, 10), keyRetryMost)
		k.keyErr, k.keyTries = err, k.keyTries+1
		k.keyNext = time.Now().Add(pause - s.heartbeat/2) // the trigger itself may come a little early
	}
}

// waitForWorkers is over within 4.5 s of the stop.
func (s *service) waitForWorkers() {
	s.mu.Lock()
	wait := s.wait
	s.mu.Unlock()
	wait()
}

// close closes the files.
func (s *service) close() {
	w := s.opened()
	if w == nil {
		return
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		w.close()
	}()
	select {
	case <-closed:
	case <-time.After(closeWithin): // a pass that hangs holds them: what was committed is on disk
	}
}

// watchedSlots notes when slots are claimed.
type watchedSlots struct {
	fetch.Slots
	service *service
}

func (w watchedSlots) Claim(ctx context.Context, c ingest.Claim) (ingest.Slot, bool, error) {
	slot, ok, err := w.Slots.Claim(ctx, c)
	if ok {
		w.service.mu.Lock()
		defer w.service.mu.Unlock()
		w.service.claimed[slot.Series()] = time.Now()
	}
	return slot, ok, err
}
