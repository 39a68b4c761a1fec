// Package queue lets River wake the workers of many machines that share a Postgres. A periodic job reconciles: it adds
// the slots that are due to our own table, and a job for each of them, which carries the slot's key and nothing else.
// The worker of such a job claims the slot in our table. So a job that is lost, doubled, run again or rescued changes
// only the time of a pass: a slot that may be claimed and has no job gets one at the next reconciliation, and a slot
// that is claimed already is left alone. No job sleeps: a slot that was refused for quota, or a job that failed, has
// another job after the next reconciliation.
//
// A machine that must not work (its clock is wrong, its key refused) leaves the queue: it fetches no job and does not
// lead. It looks every few seconds whether it may join again.
//
// Machines are upgraded one after another. An older process must stop once a newer one has changed the tables, but may
// lead until it notices. So each version of the tables has its own queues, and every process asks for a
// reconciliation at each of its heartbeats, under any leader.
//
// Backfills are pumped: a few jobs each claim pieces from our table, and no piece has a job of its own.
//
// River polls. A notification would save half a second of the half hour between two charts, but needs a connection to
// listen on, which a pooler does not provide.
package queue

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/postgres"
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
	// checkEvery is how often a machine looks whether it may work.
	checkEvery = 5 * time.Second
)

// Work is the work of the queue's jobs. All methods may be called concurrently, and return soon after the end of their
// context.
type Work interface {
	// Reconcile adds the slots that are due, and returns the slots that may be claimed now and the ids of the backfills
	// that wait.
	Reconcile(ctx context.Context) (slots []ingest.SlotKey, backfills []string, err error)
	// Pass claims the slot, if it may still be claimed, and passes it.
	Pass(ctx context.Context, slot ingest.SlotKey) error
	// Pump works on some pieces of a backfill. more: there are others that may be worked on now.
	Pump(ctx context.Context, backfill string) (more bool, err error)
	// MayWork returns why this machine must leave all work to the others; nil: it may work. It is called every few
	// seconds. An error err means that this is not known, and changes nothing.
	MayWork(ctx context.Context) (why, err error)
}

// Options configure a process's part in the queue.
type Options struct {
	URL     ingest.Secret // of the Postgres, with its password
	Version int           // of the tables with the slots: processes of another version have their own jobs
	Name    string        // of this process, unique in River's tables; "": River's choice
	Workers int           // slots that this process passes at once
	Pumps   int           // jobs of one backfill, over all processes; this process runs as many at once
	Every   time.Duration // between two reconciliations
	Rescue  time.Duration // how long a job may run until it is taken for dead and run again: a lease
	Log     *slog.Logger  // River's errors
}

// Queue is one process's part in the queue that wakes the workers of many machines. The table of slots decides.
type Queue struct {
	Options

	pool *pgxpool.Pool
	log  *slog.Logger // for River
}

// Open connects, and brings River's tables up to date, one process after another.
func Open(ctx context.Context, o Options) (*Queue, error) {
	config, err := postgres.Parse(o.URL.Reveal())
	if err != nil {
		return nil, fmt.Errorf("queue: the store's URL: %w", err)
	}
	config.MaxConns = maxConns
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // nothing is prepared: a pooler may be in between
	config.ConnConfig.StatementCacheCapacity, config.ConnConfig.DescriptionCacheCapacity = 0, 0
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("queue: connect: %w", err)
	}
	q := &Queue{o, pool, onlyWarnings(o.Log)}
	if err := q.migrate(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("queue: bring River's tables up to date: %w", err)
	}
	return q, nil
}

// Close closes the connections. No Serve may be running.
func (q *Queue) Close() { q.pool.Close() }

// migrate creates River's tables, or brings them to this version's state, and deletes the jobs of other versions. Its
// transaction holds the lock that keeps others waiting; River migrates on a connection of its own.
func (q *Queue) migrate(ctx context.Context) error {
	m, err := rivermigrate.New(riverpgxv5.New(q.pool), &rivermigrate.Config{Logger: q.log})
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
		_, err := tx.Exec(ctx, `DELETE FROM river_job WHERE starts_with(queue, 'ingest_v') AND NOT starts_with(queue, $1)`,
			q.named(""))
		return err
	})
}

// Serve works on jobs until ctx is done, while this machine may work. trigger says that something may be due, and
// returns at once. After the end of ctx, wait returns when all work has ended or was given up.
func (q *Queue) Serve(ctx context.Context, w Work) (trigger, wait func(), err error) {
	m := &member{Queue: q, work: w, asked: make(chan struct{}, 1), gone: make(chan struct{})}
	if err := m.decide(ctx); err != nil {
		m.leave()
		return nil, nil, err
	}
	go m.attend(ctx)
	return func() { go m.trigger(ctx) }, func() { <-m.gone }, nil
}

// warnings is a log with only River's warnings and errors: outcomes of slots are logged elsewhere. It leaves out the
// errors of calls that the end of the service cancels, and lets one line a minute pass: each of River's services has
// its own error about a database that is away, several times a second.
type warnings struct {
	slog.Handler

	*quiet
}

// quiet counts the omitted lines since the last one.
type quiet struct {
	mu      sync.Mutex
	until   time.Time
	leftOut int
}

// quietFor is how long River says nothing after a line.
const quietFor = time.Minute

func onlyWarnings(log *slog.Logger) *slog.Logger {
	return slog.New(warnings{log.Handler(), &quiet{}})
}

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
	w.mu.Lock()
	if now := time.Now(); now.Before(w.until) {
		w.leftOut++
		w.mu.Unlock()
		return nil
	} else if w.until = now.Add(quietFor); w.leftOut > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("left_out", w.leftOut))
		w.leftOut = 0
	}
	w.mu.Unlock()
	return w.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs), w.quiet}
}

// WithGroup implements slog.Handler.
func (w warnings) WithGroup(name string) slog.Handler {
	return warnings{w.Handler.WithGroup(name), w.quiet}
}
