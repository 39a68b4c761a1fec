// Package standing computes the state of everything at one moment: one value, which the commands, pages, probes,
// metrics and logs print. Read gathers the facts and is the only function here that does I/O. At computes: it reads
// nothing and knows no clock.
//
// A condition is good or has a cause of the closed set in the table Causes, which has the work that goes on meanwhile
// and the one cure; docs/faq.md has the same table, and a test compares the two. Errors are distinguished by errors.Is
// and errors.As alone. To add a cause, make its error where it arises, in package quota if the ledger is concerned,
// and give the table a row. An error with a method Remedy has a cure of its own.
//
// A series has one of the states of SeriesState. ChartEmpty and ChartShrunk are for evidence of a chart that lacks
// earlier videos; a machine that must not work is in Facts.Paused.
package standing

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/quota"
)

// State is how good or bad something is, the worst last: the worst of all parts is the headline.
type State int

// The states, best first.
const (
	Good State = iota
	Idle       // not known, or not begun
	Warn       // less than was configured, but it recovers by itself
	Bad        // a person may have to act
)

func (s State) String() string { return [...]string{"good", "idle", "warn", "bad"}[s] }

// Condition is the state of one part, such as the store or the ledger: the cause, since when, and the cure. For a
// region's charts see Series.
type Condition struct {
	State     State
	Cause     Cause     // "": good, or not known yet
	Err       error     // in the words of its origin; nil if the cause is no error
	Since     time.Time // zero: not known
	Meanwhile Meanwhile
	RetryAt   time.Time // when it may be better; zero: not known
}

// Facts is the input of At: all knowledge at one moment. ReadStore and a ledger's report fill it; a missing part is an
// error value here, and no failure.
type Facts struct {
	Now        time.Time
	Pace       budget.PacedSchedule // Pace.Schedule is the schedule at its current pace
	StaleAfter int                  // how many intervals a series counts as fresh

	Latest   ingest.Latest
	StoreErr error // why the store cannot be read
	Calls    ingest.CallStats
	Contact  *ingest.Contact // the newest of Calls; nil: not known
	Provider string          // the upstream's name
	Silence  time.Duration   // how long the upstream may give no usable answer; 0: UnreachableAfter

	Report    quota.Report // its Degraded says why the ledger cannot answer
	LedgerErr error        // why there is no report
	Forecast  budget.Forecast
	// the series that wait or come due before the provider's day ends, each with whether it fits
	Next []budget.PricedSlot

	Idle []ingest.IdleMachine // other machines that share the store and do not work

	// Facts that only ingest serve has.
	Paused       error         // why the workers pause, if the upstream is not the reason
	NotOpen      error         // why store, ledger and upstream are not open
	StorePath    string        // where the store is
	Room         error         // why the store has no room for one more answer
	KeyErr       error         // how the key was refused, if this process knows
	LedgerAge    time.Duration // since Report was asked for
	LedgerWithin time.Duration // the longest LedgerAge of a ledger that answers; 0: any
}

// UnreachableAfter is how long an upstream may go without a usable answer before it counts as unreachable: three
// heartbeats of ingest serve.
const UnreachableAfter = 90 * time.Second

// Standing is the state of everything at one moment. Screens, pages, probes, metrics and logs print it and judge
// nothing themselves; package report turns it into documents.
type Standing struct {
	Facts
	Store, Ledger, Upstream, Quota, Charts, Hooks Condition

	Series  []Series                      // in the config's order
	Waiting map[ingest.Series]ingest.Slot // see regions.Schedule.Waiting

	known   map[ingest.Series]time.Time
	lastRun time.Time
}

// At computes the standing.
func At(f Facts) Standing {
	s := Standing{Facts: f}
	s.judgeSeries()
	s.Store = s.judgeStore()
	s.Ledger = s.judgeLedger()
	s.Upstream = s.judgeUpstream()
	s.Quota = s.judgeQuota()
	s.Charts = s.judgeCharts()
	s.Hooks = s.judgeHooks()
	return s
}

// Closed reports whether the ledger lets not even a cheap call go on.
func (s Standing) Closed() bool { return s.Ledger.State == Bad && s.Ledger.Meanwhile != CheapCalls }

// Stopped returns why the workers pause; nil if they do not, or if the ledger is the reason, which says so itself.
func (s Standing) Stopped() error {
	if s.Report.Degraded != nil && s.Closed() {
		return nil
	}
	return s.Paused
}

func (s Standing) judgeStore() Condition {
	if s.StoreErr == nil {
		return Condition{Meanwhile: Everything}
	}
	return Condition{State: Bad, Cause: CauseOf(s.StoreErr, StoreUnreadable), Err: s.StoreErr, Meanwhile: Nothing}
}

func (s Standing) judgeLedger() Condition {
	err := cmp.Or(s.LedgerErr, s.Report.Degraded)
	if err == nil && s.LedgerWithin > 0 && s.LedgerAge > s.LedgerWithin {
		err = fmt.Errorf("it has not answered for %v", s.LedgerAge.Round(time.Second))
	}
	if err == nil {
		return Condition{Meanwhile: Everything}
	}
	if s.StoreErr != nil && errors.Is(err, ingest.ErrStoreClosed) {
		return Condition{State: Idle, Cause: s.Store.Cause, Err: err, Meanwhile: Nothing}
	}
	c := Condition{State: Bad, Err: err, Meanwhile: CheapCalls}
	if s.LedgerErr != nil {
		c.Cause, c.Meanwhile = CauseOf(err, LedgerUnreadable), Reads
	} else {
		c.Cause = CauseOf(err, LedgerSilent)
		if NothingGoesOn(s.Report.EmergencyLeft) {
			c.Meanwhile = Reads
			for _, left := range s.Report.EmergencyLeft {
				c.RetryAt = ingest.Later(c.RetryAt, left.ResumesAt)
			}
		}
	}
	if c.Meanwhile == Reads && s.StoreErr != nil {
		c.Meanwhile = Nothing
	}
	return c
}

// NothingGoesOn reports whether not even a cheap call goes on while the ledger cannot answer.
func NothingGoesOn(left []quota.EmergencyLeft) bool {
	return len(left) == 0 || slices.ContainsFunc(left, func(l quota.EmergencyLeft) bool { return l.Remaining == 0 })
}

func (s Standing) judgeUpstream() Condition {
	c := Condition{State: Idle, Cause: NotAsked, Meanwhile: Everything}
	if s.StoreErr != nil || s.Contact == nil {
		return c
	}
	calls := s.Contact.NotAfter(s.Now.Add(ingest.ClockAhead))
	switch silent := !calls.SilentSince.IsZero(); {
	case silent && !s.Closed() && (calls.NeverAnswered() ||
		s.Now.Sub(calls.SilentSince) >= cmp.Or(s.Silence, UnreachableAfter)):
		return Condition{State: Bad, Cause: UpstreamSilent, Since: calls.SilentSince, Meanwhile: Reads}
	case calls.KeyRefused():
		return Condition{State: Bad, Cause: KeyRefused, Since: calls.RefusedAt, Meanwhile: Reads}
	case silent && s.Closed(): // its silence says nothing about it: no caller asks
		c.Since = calls.AskedAt
		return c
	case calls.AnsweredAt.IsZero():
		return c
	}
	return Condition{Since: calls.AnsweredAt, Meanwhile: Everything}
}

func (s Standing) judgeQuota() Condition {
	if s.Ledger.State != Good {
		return Condition{State: Idle, Cause: s.Ledger.Cause, Err: s.Ledger.Err, Meanwhile: s.Ledger.Meanwhile}
	}
	if s.Forecast.Fits {
		return Condition{Meanwhile: Everything}
	}
	c := Condition{State: Warn, Cause: QuotaShort, Meanwhile: Everything}
	switch s.Forecast.State {
	case budget.UsedUp:
		c.Cause, c.Meanwhile, c.RetryAt = QuotaUsed, Reads, s.Forecast.BackAt
	case budget.Slower:
		c.Cause = Paced
	case budget.Lasts, budget.RunsOut, budget.Short:
	}
	for _, p := range s.Report.Pools {
		switch {
		case p.DrainedUntil.IsZero() || s.Forecast.Scheduled[p.Pool] == 0:
		case !p.DrainedByHand.IsZero():
			c.Cause, c.Since = ClosedByHand, p.DrainedByHand
		case !p.Unknown.IsZero():
			c.Cause, c.Since = UseUnknown, p.Unknown
		default:
			c.Cause = ProviderSaysNo
		}
	}
	return c
}

func (s Standing) judgeCharts() Condition {
	if s.StoreErr != nil {
		return s.Store
	}
	if err := s.Stopped(); err != nil {
		return Condition{State: Bad, Cause: CauseOf(err, WorkersPaused), Err: err, Meanwhile: Reads}
	}
	running := slices.ContainsFunc(s.Series, func(series Series) bool { return series.Running })
	if s.Empty() && !running {
		return Condition{State: Idle, Cause: NotBegun, Meanwhile: Everything}
	}
	if _, those := s.Trouble(); len(those) > 0 {
		return Condition{State: moodOf(those), Cause: those[0].Cause, Since: those[0].Since, Meanwhile: Everything,
			RetryAt: those[0].ResumesAt}
	}
	if len(s.In(Never)) > 0 {
		return Condition{State: Idle, Cause: NotBegun, Meanwhile: Everything}
	}
	return Condition{Meanwhile: Everything}
}

// Worst returns the worst of the four conditions that a person sees. Of equally bad ones it is the first of ledger,
// upstream, quota, charts, since each may be the reason of the next.
func (s Standing) Worst() Condition {
	return slices.MaxFunc([]Condition{s.Charts, s.Quota, s.Upstream, s.Ledger},
		func(a, b Condition) int { return cmp.Compare(a.State, b.State) })
}
