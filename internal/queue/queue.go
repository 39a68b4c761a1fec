// Package queue lets River wake the workers of many machines that share a Postgres. A periodic job reconciles: it adds
// the slots that are due to our own table, and a job for each of them, which carries the slot's key and nothing else.
// The worker of such a job claims the slot in our table. So a job that is lost, doubled, run again or rescued changes
// only the time of a pass: a slot that may be claimed and has no job gets one at the next reconciliation, and a slot
// that is claimed already is left alone. The job of a slot that was refused for quota sleeps until the slot may be
// tried again.
//
// Machines are upgraded one after another. An older process must stop once a newer one has changed the tables, but may
// lead until it notices. So each version of the tables has its own queues, and every process asks for a reconciliation
// at each of its heartbeats, whoever leads.
//
// Backfills are pumped: a few jobs each claim pieces from our table, and no piece has a job of its own.
//
// River polls. A notification would save half a second of the half hour between two charts, but needs a connection to
// listen on, which a pooler does not lend.
package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/trendvidstream/ingest"
)

const (
	// pollEvery is how often a worker looks for jobs.
	pollEvery = 500 * time.Millisecond
	// maxConns is how many connections River's own work takes at once: fetching, completing, leading.
	maxConns = 4
	// keepJobs is how long jobs that ended can be looked at. Nothing here needs them.
	keepJobs = time.Hour
	// stopWithin bounds a stop of River, after the passes have ended.
	stopWithin = 4 * time.Second
)

// Work is the work of the queue's jobs. All methods may be called concurrently, and return soon after the end of their context.
type Work interface {
	// Reconcile adds the slots that are due, and returns the slots that may be claimed now and the ids of the backfills that wait.
	Reconcile(ctx context.Context) (slots []ingest.SlotKey, backfills []string, err error)
	// Pass claims the slot, if it may still be claimed, and passes it. again is when to try once more; zero leaves
	// that to Reconcile.
	Pass(ctx context.Context, slot ingest.SlotKey) (again time.Time, err error)
	// Pump works on some pieces of a backfill. again is when there may be more to do for it; zero: never.
	Pump(ctx context.Context, backfill string) (again time.Time, err error)
}

// Options configure a process's part in the queue.
type Options struct {
	URL     ingest.Secret    // of the Postgres, with its password
	Version int              // of the tables with the slots: processes of another version have their own jobs
	Name    string           // of this process, unique in River's tables; "": River's choice
	Workers int              // slots that this process passes at once
	Pumps   int              // jobs of one backfill, over all processes; this process runs as many at once
	Every   time.Duration    // between two reconciliations
	Rescue  time.Duration    // how long a job may run until it is taken for dead and run again: a lease
	Now     func() time.Time // the clock by which slots are due
	Log     *slog.Logger     // what goes wrong in River
}

// Queue is one process's part in the queue.
type Queue struct {
	Options

	pool *pgxpool.Pool
}

// Open connects, and brings River's tables up to date, one process after another.
func Open(ctx context.Context, o Options) (*Queue, error) {
	config, err := pgxpool.ParseConfig(o.URL.Reveal())
	if err != nil {
		return nil, errors.New("queue: the URL of the Postgres cannot be read") // pgx's error would quote it
	}
	config.MaxConns = maxConns
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // nothing is prepared: a pooler may be in between
	config.ConnConfig.StatementCacheCapacity, config.ConnConfig.DescriptionCacheCapacity = 0, 0
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("queue: connect: %w", err)
	}
	q := &Queue{o, pool}
	if err := q.migrate(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("queue: bring River's tables up to date: %w", err)
	}
	return q, nil
}

// Close closes the connections. No Serve may be running.
func (q *Queue) Close() { q.pool.Close() }

// migrate creates River's tables, or brings them to what this version needs, and deletes the jobs of other versions. Its
// transaction holds the lock that keeps others waiting; River migrates on a connection of its own.
func (q *Queue) migrate(ctx context.Context) error {
	m, err := rivermigrate.New(riverpgxv5.New(q.pool), &rivermigrate.Config{Logger: onlyWarnings(q.Log)})
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('ingest: migrate river'))`); err != nil {
			return err
		}
		if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM river_job WHERE starts_with(queue, 'ingest_v') AND NOT starts_with(queue, $1)`, q.named(""))
		return err
	})
}

// Serve works on jobs until ctx is done. trigger says that something may be due, and returns at once. After the end of
// ctx, wait returns when all work has ended or was given up.
func (q *Queue) Serve(ctx context.Context, w Work) (trigger, wait func(), err error) {
	client, err := river.NewClient(riverpgxv5.New(q.pool), q.config(ctx, w))
	if err != nil {
		return nil, nil, fmt.Errorf("queue: %w", err)
	}
	if err := client.Start(ctx); err != nil {
		return nil, nil, fmt.Errorf("queue: start: %w", err)
	}
	trigger = func() {
		go func() {
			ctx, cancel := context.WithTimeout(ctx, q.Every)
			defer cancel()
			if _, err := client.Insert(ctx, reconcileArgs{}, q.reconcileOpts()); err != nil && ctx.Err() == nil {
				q.Log.WarnContext(ctx, "the queue was not told that something is due: the next reconciliation will find it", slog.Any("error", err))
			}
		}()
	}
	return trigger, func() {
		select {
		case <-client.Stopped():
		case <-time.After(stopWithin):
		}
	}, nil
}

func (q *Queue) config(ctx context.Context, w Work) *river.Config {
	reconcile := river.NewPeriodicJob(river.PeriodicInterval(q.Every), func() (river.JobArgs, *river.InsertOpts) {
		return reconcileArgs{}, q.reconcileOpts()
	}, &river.PeriodicJobOpts{RunOnStart: true})
	return &river.Config{
		Queues: map[string]river.QueueConfig{
			q.named(slotQueue):      {MaxWorkers: max(1, q.Workers)},
			q.named(reconcileQueue): {MaxWorkers: 1},
			q.named(backfillQueue):  {MaxWorkers: max(1, q.Pumps)},
		},
		ID:                          q.Name,
		Workers:                     q.workers(ctx, w),
		PeriodicJobs:                []*river.PeriodicJob{reconcile},
		PollOnly:                    true,
		FetchPollInterval:           pollEvery,
		JobTimeout:                  q.Rescue,
		RescueStuckJobsAfter:        q.Rescue,
		SoftStopTimeout:             time.Millisecond, // a pass ends its call and commits when its context does
		CompletedJobRetentionPeriod: keepJobs,
		CancelledJobRetentionPeriod: keepJobs,
		DiscardedJobRetentionPeriod: keepJobs,
		Logger:                      onlyWarnings(q.Log),
	}
}

// warnings is a log with only River's warnings and errors: outcomes of slots are logged elsewhere. It leaves out the
// errors of calls that the end of the service cancels.
type warnings struct{ slog.Handler }

func onlyWarnings(log *slog.Logger) *slog.Logger { return slog.New(warnings{log.Handler()}) }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (w warnings) Handle(ctx context.Context, r slog.Record) error {
	cancelled := false
	r.Attrs(func(a slog.Attr) bool {
		cancelled = strings.HasSuffix(a.Value.String(), context.Canceled.Error())
		return !cancelled
	})
	if cancelled {
		return nil
	}
	return w.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
