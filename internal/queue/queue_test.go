package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/queue"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if server.Database != nil {
		server.Stop()
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines are left:", err)
		code = 1
	}
	os.Exit(code)
}

// server is the Postgres of all tests.
var server struct {
	sync.Once
	*faulty.Database

	err error
}

var databases atomic.Int64

// newDatabase returns the URL of an empty one.
func newDatabase(t *testing.T) string {
	t.Helper()
	server.Do(func() { server.Database, server.err = faulty.StartPostgres() })
	if errors.Is(server.err, faulty.ErrAbsent) {
		t.Skipf("postgres: %v", server.err)
	}
	if server.err != nil {
		t.Fatal(server.err)
	}
	u, err := server.CreateDatabase(t.Context(), fmt.Sprint("queue", databases.Add(1)))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// soon is far more than any step here takes.
const soon = 2 * time.Minute

// table is our own table of slots, in memory: a slot is claimed there once.
type table struct {
	mu      sync.Mutex
	open    []ingest.SlotKey
	asked   map[ingest.SlotKey][]time.Time
	refuse  time.Duration    // counted from when it is first asked for a slot
	idle    map[string]error // why a worker must not work, by its name
	pieces  int
	waiting []string
	pumped  int
	hold    func(worker string, k ingest.SlotKey) // before a slot is claimed; nil: nothing
	claims  map[string]int                        // how often a worker claimed a slot, by its name
}

func newTable(slots int) *table {
	t := &table{asked: map[ingest.SlotKey][]time.Time{}, claims: map[string]int{}}
	for i := range slots {
		t.open = append(t.open, ingest.SlotKey{Job: "chart", Key: fmt.Sprint("R", i%8), DueAt: time.Unix(int64(1_800_000_000+i), 0).UTC()})
	}
	return t
}

// worker is one process at work on the table.
type worker struct {
	*table

	name string
}

func (w worker) Reconcile(context.Context) ([]ingest.SlotKey, []string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.open), slices.Clone(w.waiting), nil
}

func (w worker) MayWork(context.Context) (why, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.idle[w.name], nil
}

// setIdle says why a worker must not work; nil: it may.
func (t *table) setIdle(name string, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle = map[string]error{name: why}
}

func (w worker) Pass(ctx context.Context, k ingest.SlotKey) error {
	if w.hold != nil {
		w.hold(w.name, k)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.claims[w.name]++
	w.asked[k] = append(w.asked[k], time.Now())
	if until := w.asked[k][0].Add(w.refuse); time.Now().Before(until) {
		return nil
	}
	if i := slices.Index(w.open, k); i >= 0 {
		w.open = slices.Delete(w.open, i, i+1)
	}
	return nil
}

func (w worker) Pump(context.Context, string) (more bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for range 50 {
		if w.pieces == 0 {
			w.waiting = nil
			return false, nil
		}
		w.pieces--
		w.pumped++
	}
	return true, nil
}

// left returns how many slots are still open.
func (t *table) left() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open)
}

// serve makes a worker of that name take part until the test, or stop, ends it.
func serve(t *testing.T, place string, of *table, name string) (trigger, stop func()) {
	t.Helper()
	q, err := queue.Open(t.Context(), queue.Options{
		URL: ingest.NewSecret(place), Workers: 2, Pumps: 3, Every: time.Second, Rescue: time.Second, Name: name, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	trigger, wait, err := q.Serve(ctx, worker{of, name})
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() { cancel(); wait(); q.Close() })
	t.Cleanup(stop)
	return trigger, stop
}

// until polls until so is true.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for began := time.Now(); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > soon {
			t.Fatal("not within ", soon, ": ", what)
		}
	}
}

// rows asks the database for a number.
func rows(t *testing.T, place, query string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if err := conn.QueryRow(t.Context(), query, pgx.QueryExecModeExec).Scan(&n); err != nil { // through a pooler nothing stays prepared
		t.Fatal(err)
	}
	return n
}

func TestThreeWorkersShareTheSlotsAndEachHasOneJob(t *testing.T) {
	t.Run("directly", func(t *testing.T) { threeWorkers(t, newDatabase(t)) })
	t.Run("through a pooler in transaction mode", func(t *testing.T) {
		newDatabase(t) // or skip
		threeWorkers(t, server.URLAt(faulty.PgBouncer(t, server.Database, 4).Addr()))
	})
}

func threeWorkers(t *testing.T, place string) {
	t.Helper()
	slots := newTable(60)
	slots.hold = func(string, ingest.SlotKey) {
		time.Sleep(200 * time.Millisecond) // the upstream, for longer in all than two reconciliations are apart
	}
	for _, name := range []string{"a", "b", "c"} {
		trigger, _ := serve(t, place, slots, name)
		trigger() // each of them triggers: there is still one job a slot
	}
	until(t, "all slots are passed", func() bool { return slots.left() == 0 })
	slots.mu.Lock()
	defer slots.mu.Unlock()
	// A job may be added for a slot that is being passed.
	if jobs := rows(t, place, `SELECT count(*) FROM river_job WHERE kind = 'ingest_slot'`); jobs < 60 || jobs > 90 {
		t.Errorf("60 slots had %d jobs, want at least 60 and at most 90", jobs)
	}
	if len(slots.claims) != 3 {
		t.Errorf("the slots went to %v, want 3 of them", slots.claims)
	}
}

func TestTheNextReconciliationRestoresJobsThatRiverForgets(t *testing.T) {
	place, slots := newDatabase(t), newTable(40)
	var emptied sync.Once
	slots.hold = func(string, ingest.SlotKey) {
		emptied.Do(func() { rows(t, place, `WITH gone AS (DELETE FROM river_job RETURNING 1) SELECT count(*) FROM gone`) })
	}
	serve(t, place, slots, "a")
	until(t, "all slots are passed", func() bool { return slots.left() == 0 })
}

func TestARefusedSlotIsAskedForAtEachReconciliation(t *testing.T) {
	place, slots := newDatabase(t), newTable(1)
	k := slots.open[0]
	slots.refuse = 4 * time.Second
	serve(t, place, slots, "a")
	until(t, "the slot is passed", func() bool { return slots.left() == 0 })
	slots.mu.Lock()
	defer slots.mu.Unlock()
	if n := len(slots.asked[k]); n < 2 || n > 8 {
		t.Errorf("asked %d times in 4 s: a reconciliation comes every second, want at least 2 and at most 8", n)
	}
}

func TestJobsInTheFutureAreBroughtForward(t *testing.T) {
	place, slots := newDatabase(t), newTable(6)
	slots.pieces, slots.waiting = 200, []string{"bf-1"}
	// A machine whose clock was ahead, or a person, put all jobs off.
	slots.hold = func(string, ingest.SlotKey) {
		rows(t, place, `WITH off AS (UPDATE river_job SET scheduled_at = now() + interval '1 hour', state = 'scheduled' WHERE state = 'available' AND attempt = 0 RETURNING 1) SELECT count(*) FROM off`)
	}
	_, stop := serve(t, place, slots, "a")
	until(t, "the first is passed", func() bool { return slots.left() < 6 })
	stop()
	slots.hold = nil
	rows(t, place, `WITH off AS (UPDATE river_job SET scheduled_at = now() + interval '1 day', state = 'scheduled' WHERE state IN ('available', 'running') RETURNING 1) SELECT count(*) FROM off`)
	serve(t, place, slots, "b")
	until(t, "all slots are passed, and all pieces", func() bool {
		slots.mu.Lock()
		defer slots.mu.Unlock()
		return len(slots.open) == 0 && slots.pumped == 200
	})
}

// A machine that must not work leads nothing and takes no job: the others do all, and it takes part again by itself.
func TestAMachineThatMayNotWorkLeavesTheQueueAlone(t *testing.T) {
	place, slots := newDatabase(t), newTable(40)
	slots.hold = func(string, ingest.SlotKey) { time.Sleep(50 * time.Millisecond) } // the upstream
	passed := func(name string) int {
		slots.mu.Lock()
		defer slots.mu.Unlock()
		return slots.claims[name]
	}
	serve(t, place, slots, "a")
	leads := func(name string) int { // an expired lease is not given up
		return rows(t, place, fmt.Sprintf(`SELECT count(*) FROM river_leader WHERE leader_id = '%s'`, name))
	}
	until(t, "it leads and works", func() bool { return leads("a") == 1 && passed("a") > 2 })
	slots.setIdle("a", errors.New("its clock is 60 min ahead of the database's"))
	until(t, "it has given up the lead", func() bool { return leads("a") == 0 })
	before := passed("a")
	serve(t, place, slots, "b")
	until(t, "the other leads, and has passed all slots", func() bool { return leads("b") == 1 && slots.left() == 0 })
	if now := passed("a"); now != before {
		t.Errorf("a machine that may not work passed %d slots", now-before)
	}
	slots.setIdle("a", nil)
	until(t, "it works again", func() bool {
		slots.mu.Lock()
		defer slots.mu.Unlock()
		if len(slots.open) == 0 {
			slots.open = newTable(60).open
		}
		return slots.claims["a"] > before
	})
}

// A machine that must not work when it starts does not join.
func TestAMachineThatMayNotWorkDoesNotJoin(t *testing.T) {
	place, slots := newDatabase(t), newTable(10)
	slots.setIdle("a", errors.New("its key is refused"))
	trigger, _ := serve(t, place, slots, "a")
	trigger()
	serve(t, place, slots, "b")
	slots.hold = func(name string, _ ingest.SlotKey) {
		if name == "a" {
			t.Error("the machine whose key is refused: got a job, want none")
		}
	}
	until(t, "all slots are passed", func() bool { return slots.left() == 0 })
	if n := rows(t, place, `SELECT count(*) FROM river_job WHERE 'a' = ANY (attempted_by)`); n != 0 {
		t.Errorf("it took %d jobs, want 0", n)
	}
}

func TestABackfillIsPumpedByAFewJobs(t *testing.T) {
	place, slots := newDatabase(t), newTable(0)
	slots.pieces, slots.waiting = 2_000, []string{"bf-1"}
	serve(t, place, slots, "a")
	serve(t, place, slots, "b")
	most := 0
	until(t, "all pieces are done", func() bool {
		most = max(most, rows(t, place, `SELECT count(*) FROM river_job WHERE kind = 'ingest_backfill'`))
		slots.mu.Lock()
		defer slots.mu.Unlock()
		return slots.pumped == 2_000
	})
	if most == 0 || most > 20 {
		t.Errorf("%d jobs for 2,000 pieces", most)
	}
}

// A worker that died holds its job until River rescues it, every half minute.
func TestLongAJobWhoseWorkerDiedIsRescued(t *testing.T) {
	place, slots := newDatabase(t), newTable(8)
	gone := make(chan struct{})
	t.Cleanup(func() { close(gone) })
	slots.hold = func(name string, _ ingest.SlotKey) {
		if name == "dead" {
			<-gone
		}
	}
	serve(t, place, slots, "dead")
	until(t, "the dead worker has jobs", func() bool {
		return rows(t, place, `SELECT count(*) FROM river_job WHERE kind = 'ingest_slot' AND state = 'running'`) > 0
	})
	serve(t, place, slots, "alive")
	until(t, "all slots are passed", func() bool { return slots.left() == 0 })
}
