package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// Reconciler brings the table of slots up to date with the clock. Every trigger (cron, a timer, a person) only calls
// Run or, in a long-running program, Serve. Many processes may call it, as often as they like: each slot is passed
// once, and no two slots of a series at the same time.
type Reconciler struct {
	Jobs     map[string]ingest.Job // by name; slots of any other job are unwanted
	Schedule Scheduler
	// Pace returns the schedule as stretched at now, and the pages of a job's charts, by job; missing jobs keep their
	// own. known is the argument of Schedule.Due. nil: it is never stretched, and a chart begins with quota for one page.
	Pace func(ctx context.Context, known map[ingest.Series]time.Time,
		now time.Time) (paced Scheduler, pages map[string]int)
	Slots Slots
	Sink  Sink
	// returns why the Sink has no room for one more answer: nothing is spent then; nil: it always has
	Room     func() error
	Library  Library
	Upstream Upstream
	Namer    Namer   // nil: categories have no names
	Counter  Counter // nil: counts come with videos only
	Notes    Notes   // nil: an upstream that is away is tried by every slot
	Quota    Quota
	// Reserve returns the amounts that a backfill's calls must leave for the schedule; nil: only the ceilings apply.
	// Passes call it concurrently.
	Reserve func(context.Context) quota.Reserve
	// RefreshCalls returns how many more look-ups of old videos a refresh may make today, after the amounts that it has
	// charged, by pool. waits describes the work left for later days. nil: a refresh looks up all old videos.
	RefreshCalls func(ctx context.Context, now time.Time, charged map[string]int64) (calls int, waits string, err error)
	// FreeBursts says that the upstream does not charge calls that it refuses for coming too fast: passes refund them
	// if that refusal is certain.
	FreeBursts bool
	Owner      string        // names this run among all that share the table
	Workers    int           // passes at once, at most; 0: one
	Lease      time.Duration // how long a claim is valid, from the last page saved; 0: DefaultLease
	Now        func() time.Time
	// Date asks the upstream for its clock by a request that costs no quota. It returns the zero time if the upstream
	// does not say, and an error if it was not reached; nil if the upstream has no clock.
	Date func(context.Context) (time.Time, error)
	// CheckClock returns a *ingest.ClockApart if this machine's clock differs from the clocks of the machines that
	// share the table, and another error if that is not known; nil: no other machine shares it. A round does nothing
	// after any error.
	CheckClock func(context.Context) error
	Log        *slog.Logger
	Pause      func(ctx context.Context, d time.Duration) error // waits before a retry; nil: by the clock

	// OnCall, if not nil, is called after every call that was sent, with "ok" or the verdict, and its duration. Passes
	// call it concurrently.
	OnCall func(method, verdict string, took time.Duration)

	// OnSlot is called with every slot that was worked on, as it ended. Serve calls OnPause when nothing is left to
	// claim and nothing runs, with the error that stopped the workers, or nil. They may be nil, are never called
	// concurrently, and must return soon.
	OnSlot  func(ingest.SlotResult)
	OnPause func(err error)

	// Rate spreads the calls after one was refused for coming too fast; nil: each Run, and Serve, has its own.
	Rate *Rate
}

// DefaultLease is longer than one page takes with all its retries. After it, another run takes over the slot of a run
// that died or hangs.
const DefaultLease = 3 * time.Minute

func (r *Reconciler) lease() time.Duration { return cmp.Or(r.Lease, DefaultLease) }

// RunOptions narrow a run. The zero value does all work that is due.
type RunOptions struct {
	Series []ingest.Series // only these; nil: all
	Pages  int             // instead of the job's pages; 0: as the job has
	Force  bool            // treat every series as due now, with purpose manual

	// DueScan is shared by narrow runs that follow each other closely: the first in each second adds the due slots of
	// all series, and the others only claim. nil: each run adds its own.
	DueScan *DueScan

	// Backfill replaces the schedule: Run passes its pieces until none is left, quota is refused, this run has spent
	// MaxUnits (ErrMaxUnits), or all its runs have spent the agreed amount (ErrMaxCharges). No slots of the schedule
	// are added.
	Backfill *ingest.Backfill
	MaxUnits int64 // 0: no bound of its own

	patient bool // pieces that wait are left alone

	paced bool // the schedule's pace applies: slots are not forced and the number of pages is not set
}

// DueScan is when slots were last added, and how many pages paced charts have since. The zero DueScan is ready to use.
type DueScan struct {
	mu    sync.Mutex
	at    time.Time
	pages map[string]int
}

// dueScanFor is how long a DueScan is valid.
const dueScanFor = time.Second

// ErrMaxUnits ends a run that has spent RunOptions.MaxUnits, ErrMaxCharges one whose backfill has spent the amount
// that a person agreed to. Nothing failed.
var (
	ErrMaxUnits   = errors.New("this run has spent its maximum")
	ErrMaxCharges = fmt.Errorf("%w of one pool", ErrMaxUnits)
)
