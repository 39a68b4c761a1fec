package queue

import (
	"context"
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
	return &river.InsertOpts{Queue: q.named(queue), UniqueOpts: river.UniqueOpts{ByArgs: true, ByQueue: true, ByState: []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable, rivertype.JobStateScheduled,
	}}}
}

// workers returns the workers for the three kinds of jobs, which run until ctx is done. A job's own context, which ends
// when River takes the worker for dead, does not stop a pass: the slot's lease says whose the slot is.
func (q *Queue) workers(ctx context.Context, w Work) *river.Workers {
	all := river.NewWorkers()
	river.AddWorker(all, river.WorkFunc(func(job context.Context, _ *river.Job[reconcileArgs]) error {
		slots, backfills, err := w.Reconcile(ctx)
		if err == nil {
			err = q.insert(ctx, river.ClientFromContext[pgx.Tx](job), slots, backfills)
		}
		return q.jobResult(ctx, time.Time{}, err)
	}))
	river.AddWorker(all, river.WorkFunc(func(_ context.Context, j *river.Job[slotArgs]) error {
		again, err := w.Pass(ctx, ingest.SlotKey{Job: j.Args.Job, Key: j.Args.Key, DueAt: j.Args.DueAt})
		return q.jobResult(ctx, again, err)
	}))
	river.AddWorker(all, river.WorkFunc(func(_ context.Context, j *river.Job[pumpArgs]) error {
		again, err := w.Pump(ctx, j.Args.Backfill)
		return q.jobResult(ctx, again, err)
	}))
	return all
}

// insert adds the jobs that are not there yet.
func (q *Queue) insert(ctx context.Context, client *river.Client[pgx.Tx], slots []ingest.SlotKey, backfills []string) error {
	var jobs []river.InsertManyParams
	for _, s := range slots {
		jobs = append(jobs, river.InsertManyParams{Args: slotArgs{Job: s.Job, Key: s.Key, DueAt: s.DueAt.UTC()}, InsertOpts: q.uniqueOpts(slotQueue)})
	}
	for _, id := range backfills {
		for n := range max(1, q.Pumps) {
			jobs = append(jobs, river.InsertManyParams{Args: pumpArgs{Backfill: id, Number: n + 1}, InsertOpts: q.uniqueOpts(backfillQueue)})
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	_, err := client.InsertMany(ctx, jobs)
	return err
}

// jobResult ends a job, or lets it sleep until again. A job that failed is tried again after Every: our table, not the
// job, counts a slot's attempts. A job interrupted by the end of this process is free for the next process.
func (q *Queue) jobResult(ctx context.Context, again time.Time, err error) error {
	switch {
	case ctx.Err() != nil:
		return river.JobSnooze(0)
	case err != nil:
		q.Log.DebugContext(ctx, "a job is tried again", slog.Duration("in", q.Every), slog.Any("error", err))
		return river.JobSnooze(q.Every)
	case !again.IsZero():
		return river.JobSnooze(max(0, again.Sub(q.Now())))
	}
	return nil
}
