package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/trendvidstream/ingest"
)

// The queues, each with its own workers, so that a backfill delays neither a chart nor the reconciliation.
const (
	slotQueue      = "slots"
	reconcileQueue = "reconcile"
	backfillQueue  = "backfills"
)

// named returns a queue's name in River's tables. It holds the version, so that a process of another version neither
// takes these jobs nor keeps them from being added.
func (q *Queue) named(queue string) string { return fmt.Sprintf("ingest_v%d_%s", q.Version, queue) }

// reconcileArgs is the job that finds the slots that are due.
type reconcileArgs struct{}

func (reconcileArgs) Kind() string { return "ingest_reconcile" }

// reconcileOpts returns options that admit one unfinished job in each period, so that a job whose worker died does not
// block later ones.
func (q *Queue) reconcileOpts() *river.InsertOpts {
	o := q.uniqueOpts(reconcileQueue)
	o.UniqueOpts.ByPeriod = max(q.Every, time.Second)
	return o
}

// slotArgs is the job of a slot: its key.
type slotArgs struct {
	Job   string    `json:"job"`
	Key   string    `json:"key"`
	DueAt time.Time `json:"due_at"`
}

func (slotArgs) Kind() string { return "ingest_slot" }

// pumpArgs is one of the jobs that work on a backfill.
type pumpArgs struct {
	Backfill string `json:"backfill"`
	Number   int    `json:"number"` // from 1
}

func (pumpArgs) Kind() string { return "ingest_backfill" }

// uniqueOpts returns options that admit only one unfinished job with the same arguments in a queue.
func (q *Queue) uniqueOpts(queue string) *river.InsertOpts {
	return &river.InsertOpts{Queue: q.named(queue),
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByQueue: true, ByState: []rivertype.JobState{
			rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable,
			rivertype.JobStateScheduled,
		}}}
}

// workers returns the workers for the three kinds of jobs, which run until ctx is done. A job's own context, which ends
// when River takes the worker for dead, does not stop a pass: the slot's lease says whose the slot is.
func (m *member) workers(ctx context.Context) *river.Workers {
	all := river.NewWorkers()
	addWorker(ctx, m, all, func(job context.Context, _ reconcileArgs) (more bool, err error) {
		if err := m.bringForward(ctx); err != nil {
			return false, err
		}
		slots, backfills, err := m.work.Reconcile(ctx)
		if err != nil {
			return false, err
		}
		return false, m.insert(ctx, river.ClientFromContext[pgx.Tx](job), slots, backfills)
	})
	addWorker(ctx, m, all, func(_ context.Context, a slotArgs) (more bool, err error) {
		return false, m.work.Pass(ctx, ingest.SlotKey{Job: a.Job, Key: a.Key, DueAt: a.DueAt})
	})
	addWorker(ctx, m, all,
		func(_ context.Context, a pumpArgs) (more bool, err error) { return m.work.Pump(ctx, a.Backfill) })
	return all
}

// addWorker adds the worker of a kind of job to all. River runs also the jobs that it was fetching when ctx ended:
// none of them does any work.
func addWorker[A river.JobArgs](ctx context.Context, m *member, all *river.Workers,
	do func(job context.Context, args A) (more bool, err error)) {
	river.AddWorker(all, river.WorkFunc(func(job context.Context, j *river.Job[A]) (err error) {
		more := false
		if ctx.Err() == nil {
			more, err = do(job, j.Args)
		}
		return m.jobResult(ctx, more, err)
	}))
}

// bringForward makes jobs runnable that are scheduled for later than the next reconciliation. None is meant to be: the
// clock of the machine that scheduled it is ahead.
func (q *Queue) bringForward(ctx context.Context) error {
	moved, err := q.pool.Exec(ctx, `UPDATE river_job SET scheduled_at = now(), state = 'available'
		WHERE starts_with(queue, $1) AND state IN ('available', 'pending', 'retryable', 'scheduled')
			AND scheduled_at > now() + $2 * interval '1 second'`,
		q.named(""), q.Every.Seconds())
	if err != nil {
		return fmt.Errorf("queue: look for jobs in the future: %w", err)
	}
	if n := moved.RowsAffected(); n > 0 {
		q.Log.WarnContext(ctx, "jobs were scheduled by a clock that is ahead: they run now", slog.Int64("jobs", n))
	}
	return nil
}

// insert adds the jobs that are not there yet.
func (q *Queue) insert(ctx context.Context, client *river.Client[pgx.Tx], slots []ingest.SlotKey,
	backfills []string) error {
	var jobs []river.InsertManyParams
	for _, s := range slots {
		jobs = append(jobs, river.InsertManyParams{Args: slotArgs{Job: s.Job, Key: s.Key, DueAt: s.DueAt.UTC()},
			InsertOpts: q.uniqueOpts(slotQueue)})
	}
	for _, id := range backfills {
		for n := range max(1, q.Pumps) {
			jobs = append(jobs, river.InsertManyParams{Args: pumpArgs{Backfill: id, Number: n + 1},
				InsertOpts: q.uniqueOpts(backfillQueue)})
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	_, err := client.InsertMany(ctx, jobs)
	return err
}

// jobResult ends a job. No job sleeps, by any clock: a slot that may still be claimed, and a backfill that waits,
// have another job after the next reconciliation, perhaps on another machine. Our table counts a slot's attempts. A
// job with more to do, or interrupted by the end of this process, is free at once.
func (m *member) jobResult(ctx context.Context, more bool, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errLeft): // its clock may be wrong, and a snooze goes by it
		return nil
	case ctx.Err() != nil || more:
		return river.JobSnooze(0)
	}
	if err != nil {
		m.Log.DebugContext(ctx, "a job has failed", slog.Any("error", err))
		m.checkNow() // perhaps this machine must not work
	}
	return nil
}
