package main

import (
	"context"
	"errors"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/store"
)

// machine is this machine among those that share a store. Its methods are called by one goroutine, but for otherIdle.
type machine struct {
	*fetchRuntime

	process string // unique among all
	since   time.Time

	asked time.Time // when the upstream last told its time
	apart error     // that its clock and this machine's are apart
}

const (
	// askUpstream is how often the upstream's clock is asked, which costs no quota, and askAgain how often while it is
	// apart.
	askUpstream = 10 * time.Minute
	askAgain    = time.Minute
	// dateStep is how exact an upstream's Date is.
	dateStep = 2 * time.Second
)

// mayWork returns why this machine must leave the queue to the others: a clock that is not the database's or the
// upstream's, or a database that takes no writes. err says that this is not known.
func (m *machine) mayWork(ctx context.Context) (why, err error) {
	err = m.checkClock(ctx)
	if _, apart := errors.AsType[*ingest.ClockApart](err); apart || errors.Is(err, store.ErrNoWrites) {
		return err, nil
	}
	if err == nil {
		why = m.compareUpstream(ctx)
	}
	return why, err
}

// compareUpstream compares this machine's clock with the upstream's, as it was last asked. An upstream that does not answer
// says nothing about clocks.
func (m *machine) compareUpstream(ctx context.Context) error {
	every := askUpstream
	if m.apart != nil {
		every = askAgain
	}
	if !m.asked.IsZero() && time.Since(m.asked) < every {
		return m.apart
	}
	asked := time.Now()
	date, err := m.upstream.AskDate(ctx)
	if m.asked = asked; err == nil && !date.IsZero() {
		m.apart = ingest.CompareClocks("the upstream", asked.Add(time.Since(asked)/2), date, m.ledger.Tariff.Gap()+dateStep)
	}
	return m.apart
}

// tellIdle tells the other machines why this one does not work; nil: it works again. It goes by the database's clock.
func (m *machine) tellIdle(ctx context.Context, why error) error {
	now, err := m.store.Clock(ctx)
	if err != nil {
		return err
	}
	note := ingest.IdleMachine{Machine: config.Hostname(), SeenAt: now.UTC().Truncate(time.Second)}
	if why == nil {
		m.since = time.Time{}
		return m.store.SetIdle(ctx, m.process, note, now)
	}
	if m.since.IsZero() {
		m.since = note.SeenAt
	}
	note.Why, note.Since = config.RedactKeys(why.Error()), m.since
	return m.store.SetIdle(ctx, m.process, note, now)
}

// otherIdle returns the other machines that do not work.
func (m *machine) otherIdle(ctx context.Context) ([]ingest.IdleMachine, error) {
	now, err := m.store.Clock(ctx)
	if err != nil {
		return nil, err
	}
	return m.store.IdleMachines(ctx, now, m.process)
}
