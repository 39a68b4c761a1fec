package service

import (
	"errors"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/quota"
)

// maxKeyPause is the longest pause before a refused key is tried again. The first pause is a heartbeat, each next one
// twice as long. Every try costs up to a unit per worker: without the pauses a night would cost the day's quota.
const maxKeyPause = 10 * time.Minute

// state is the service's knowledge, for its pages, its service manager and its dead man's switch. It is a plain
// value: the events below change it, and readers get a copy.
type state struct {
	beat time.Time // the scheduler's newest

	openErr error    // why nothing is open
	runtime *Runtime // nil: not open
	trigger func()   // wakes the workers of the runtime
	stop    func()   // stops those workers
	wait    func()   // waits for them, after a stop
	reader  *Runtime // the source while nothing is open; nil: nothing

	askedLedger time.Time // when it last answered or failed to; zero: never
	ledgerErr   error
	report      quota.Report
	degraded    time.Duration        // in all, up to askedLedger
	pace        budget.PacedSchedule // by that report; its Schedule is nil if that is as configured
	forecast    budget.Forecast      // by that report

	idle         error     // why this machine leaves all work to the others; nil: it does not
	idleReported time.Time // when this was last reported to the others

	keyErr      error // the refusal; nil: none so far
	keyRefusals int   // in a row
	keyNext     time.Time

	busySince time.Time // when the workers began to work; zero: they are idle
	paused    bool      // the workers have finished a round
	pauseErr  error     // why they could not go on
	news      bool      // something has happened since the last ping
	pinged    time.Time
}

// slotEnded is the event of a pass that has ended. news says that its outcome differs from the one before.
func (s *state) slotEnded(r ingest.SlotResult, news bool) {
	if r.State == ingest.Done && r.Spent > 0 { // a refresh may end without a call
		s.keyErr, s.keyRefusals, s.keyNext = nil, 0, time.Time{}
	}
	s.news = s.news || news
}

// workersPaused is the event of workers that have nothing left to do, or cannot go on because of err.
func (s *state) workersPaused(err error, heartbeat time.Duration) {
	s.news = s.news || (err == nil) != (s.pauseErr == nil)
	s.busySince, s.paused, s.pauseErr = time.Time{}, true, err
	s.checkRefusal(err, heartbeat)
}

// ledgerAnswered is the event of a ledger that answered a request for a report, or failed to, at now.
func (s *state) ledgerAnswered(report quota.Report, err error, now time.Time) {
	s.degraded = s.degradedFor(now)
	s.askedLedger, s.report, s.ledgerErr = now, report, err
}

// degradedFor returns for how long, in all, the ledger could not answer until now. It goes by the monotonic clock.
func (s state) degradedFor(now time.Time) time.Duration {
	if s.ledgerErr == nil {
		return s.degraded
	}
	return s.degraded + now.Sub(s.askedLedger)
}

// checkRefusal remembers that a key was refused, if err says so, and when to try it again.
func (s *state) checkRefusal(err error, heartbeat time.Duration) {
	if errors.Is(err, ingest.ErrKeyRefused) {
		pause := min(heartbeat<<min(s.keyRefusals, 10), maxKeyPause)
		s.keyErr, s.keyRefusals = err, s.keyRefusals+1
		s.keyNext = time.Now().Add(pause - heartbeat/2) // the trigger itself may come a little early
	}
}

// keyPaused reports whether it is too early to try a refused key again.
func (s *state) keyPaused() bool { return time.Now().Before(s.keyNext) }

// pingDue reports whether the dead man's switch should hear something: after every round that did something, and
// every minute. Not before the first round has ended: a service that hangs in it must not be taken for a healthy one.
func (s *state) pingDue() bool {
	return (s.paused || s.openErr != nil) && (s.news || time.Since(s.pinged) >= pingEvery)
}

// stateBox holds the state: all goroutines of the service change and read it through these two methods.
type stateBox struct {
	mu    sync.Mutex
	state state
}

func (b *stateBox) update(event func(*state)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	event(&b.state)
}

func (b *stateBox) read() state {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}
