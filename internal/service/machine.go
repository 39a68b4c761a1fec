package service

import (
	"context"
	"errors"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
)

// Machine is this machine among the machines that share a store. Except for OtherIdle, one goroutine calls its
// methods.
type Machine struct {
	Name, Process string // Process is unique among all
	Store         interface {
		Clock(context.Context) (time.Time, error)
		SetIdle(ctx context.Context, process string, note ingest.IdleMachine, seen time.Time) error
		IdleMachines(ctx context.Context, now time.Time, except string) ([]ingest.IdleMachine, error)
	}
	// compares the clock with the database's clock, as fetch.Reconciler.CheckClock
	CheckClock func(context.Context) error
	AskDate    func(context.Context) (time.Time, error) // asks the upstream's clock, as fetch.Reconciler.Date
	Gap        time.Duration                            // the largest trusted gap to the upstream's clock

	since time.Time

	asked time.Time // when the upstream last answered with its time
	apart error     // that its clock and this machine's clock are apart
}

const (
	// askUpstream is how often the upstream's clock is asked, which costs no quota, and askOften how often while it is
	// apart.
	askUpstream = 10 * time.Minute
	askOften    = time.Minute
	// dateStep is how exact an upstream's Date is.
	dateStep = 2 * time.Second
)

// MayWork returns why this machine must leave the queue to the others: a clock that differs from the database's or
// the upstream's clock, or a database that takes no writes. err says that this is not known.
func (m *Machine) MayWork(ctx context.Context) (why, err error) {
	err = m.CheckClock(ctx)
	if _, apart := errors.AsType[*ingest.ClockApart](err); apart || errors.Is(err, ingest.ErrNoWrites) {
		return err, nil
	}
	if err == nil {
		why = m.compareUpstream(ctx)
	}
	return why, err
}

// compareUpstream compares the clocks of this machine and of the upstream, by its last answer. An upstream that does
// not answer says nothing about clocks.
func (m *Machine) compareUpstream(ctx context.Context) error {
	every := askUpstream
	if m.apart != nil {
		every = askOften
	}
	if !m.asked.IsZero() && time.Since(m.asked) < every {
		return m.apart
	}
	m.asked = time.Now()
	here, date, err := ingest.AskClock(ctx, m.AskDate)
	if err == nil && !date.IsZero() {
		m.apart = ingest.CompareClocks("the upstream", here, date, m.Gap+dateStep)
	}
	return m.apart
}

// ReportIdle reports to the other machines why this one does not work; nil: it works again. It goes by the database's
// clock.
func (m *Machine) ReportIdle(ctx context.Context, why error) error {
	now, err := m.Store.Clock(ctx)
	if err != nil {
		return err
	}
	note := ingest.IdleMachine{Machine: m.Name, SeenAt: now.UTC().Truncate(time.Second)}
	if why == nil {
		m.since = time.Time{}
		return m.Store.SetIdle(ctx, m.Process, note, now)
	}
	if m.since.IsZero() {
		m.since = note.SeenAt
	}
	note.Why, note.Since = term.Clean(why.Error()), m.since
	return m.Store.SetIdle(ctx, m.Process, note, now)
}

// OtherIdle returns the other machines that do not work.
func (m *Machine) OtherIdle(ctx context.Context) ([]ingest.IdleMachine, error) {
	now, err := m.Store.Clock(ctx)
	if err != nil {
		return nil, err
	}
	return m.Store.IdleMachines(ctx, now, m.Process)
}
