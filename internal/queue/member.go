package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// member is a machine of the queue while it serves. It has a client of River only while it may work: without one it
// fetches nothing and leads nothing.
type member struct {
	*Queue

	work  Work
	asked chan struct{} // asks attend to check now
	gone  chan struct{} // closed when nothing of it runs any more

	mu     sync.Mutex
	client *river.Client[pgx.Tx]   // nil: not at work
	stop   context.CancelCauseFunc // ends the client's work
	ended  <-chan struct{}         // closed when the client before it has ended; nil: there was none
}

// errLeft ends the work of a machine that must not go on.
var errLeft = errors.New("this machine leaves its work to others")

// attend lets the machine work while it may, until ctx is done.
func (m *member) attend(ctx context.Context) {
	defer close(m.gone)
	defer m.leave()
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-m.asked:
		}
		if err := m.decide(ctx); err != nil && ctx.Err() == nil {
			m.Log.WarnContext(ctx, "this machine may work and cannot join the queue: it tries again", slog.Any("error", err))
		}
	}
}

// checkNow asks attend to check at once. It never blocks.
func (m *member) checkNow() {
	select {
	case m.asked <- struct{}{}:
	default:
	}
}

// decide joins the queue if this machine may work, and leaves it otherwise.
func (m *member) decide(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, checkEvery)
	defer cancel()
	why, err := m.work.MayWork(within)
	switch {
	case err != nil: // not known: River tries again by itself, and a machine that has left waits
		return nil
	case why != nil:
		m.leave()
		return nil
	}
	return m.join(ctx)
}

// join begins to fetch jobs.
func (m *member) join(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client != nil {
		return nil
	}
	if m.ended != nil {
		select {
		case <-m.ended:
		default:
			return nil
		}
	}
	work, stop := context.WithCancelCause(ctx)
	client, err := river.NewClient(riverpgxv5.New(m.pool), m.config(work))
	if err == nil {
		err = client.Start(work)
	}
	if err != nil {
		stop(err)
		return fmt.Errorf("queue: start: %w", err)
	}
	m.client, m.stop = client, stop
	return nil
}

// leave gives up the lead, fetches no job any more, and ends the passes in flight.
func (m *member) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client == nil {
		return
	}
	m.stop(errLeft)
	m.ended, m.client = m.client.Stopped(), nil
	select {
	case <-m.ended:
	case <-time.After(stopWithin):
	}
}

// trigger asks for a reconciliation, if this machine is at work.
func (m *member) trigger(ctx context.Context) {
	m.mu.Lock()
	client := m.client
	m.mu.Unlock()
	if client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, m.Every)
	defer cancel()
	if _, err := client.Insert(ctx, reconcileArgs{}, m.reconcileOpts()); err != nil && ctx.Err() == nil {
		m.Log.WarnContext(ctx, "the queue did not learn that something is due: the next reconciliation will find it",
			slog.Any("error", err))
	}
}

func (m *member) config(ctx context.Context) *river.Config {
	reconcile := river.NewPeriodicJob(river.PeriodicInterval(m.Every), func() (river.JobArgs, *river.InsertOpts) {
		return reconcileArgs{}, m.reconcileOpts()
	}, &river.PeriodicJobOpts{RunOnStart: true})
	return &river.Config{
		Queues: map[string]river.QueueConfig{
			m.named(slotQueue):      {MaxWorkers: max(1, m.Workers)},
			m.named(reconcileQueue): {MaxWorkers: 1},
			m.named(backfillQueue):  {MaxWorkers: max(1, m.Pumps)},
		},
		ID:                          m.Name,
		Workers:                     m.workers(ctx),
		PeriodicJobs:                []*river.PeriodicJob{reconcile},
		PollOnly:                    true,
		FetchPollInterval:           pollEvery,
		JobTimeout:                  m.Rescue,
		RescueStuckJobsAfter:        m.Rescue,
		SoftStopTimeout:             time.Millisecond, // a pass ends its call and commits when its context does
		CompletedJobRetentionPeriod: keepJobs,
		CancelledJobRetentionPeriod: keepJobs,
		DiscardedJobRetentionPeriod: keepJobs,
		Logger:                      m.log,
	}
}
