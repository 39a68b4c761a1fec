package sharedledger_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
)

// plan describes a simulation; a seed draws one.
type plan struct {
	seed     uint64
	hosts    int
	workers  []int     // per host: slots when processes come and go
	demand   float64   // times the limit, in all
	start    time.Time // true time of the beginning
	length   time.Duration
	losses   int     // of the ledger's memory
	silent   float64 // share of the losses without a NOSCRIPT
	outages  int
	aways    int     // of hosts: switched off, cut off
	steps    int     // of clocks
	flaky    float64 // share of requests that go wrong
	crashes  float64 // share of steps at which a process dies
	refunds  float64 // share of calls that never leave and are given back
	unsent   float64 // and of calls that go on without the ledger
	broken   bool    // data directories whose disk is full for a while
	lazy     int     // the host that asks rarely, and then for much
	newcomer bool    // the last host comes later, with a new data directory
	unsure   float64 // share of the journal's writes that fail, though they are on disk
	failover bool    // a restored server runs on another machine with a wrong clock
	boot     bool    // a host's clock is a day ahead for a moment
	without  part
}

// part is a mechanism that a simulation leaves out, to see whether it is needed.
type part string

const (
	nothing    part = ""
	journals   part = "a journal that outlives the process"
	numbers    part = "the same number for the same operation"
	generation part = "generations and the signs of loss"
	settling   part = "settling"
	raising    part = "raising to snapshots"
	theSync    part = "syncing rows"
)

func drawPlan(seed uint64) plan {
	r := rand.New(rand.NewPCG(seed, 1))
	p := plan{seed: seed, hosts: 1 + r.IntN(3), length: time.Duration(26+r.IntN(24)) * time.Hour}
	for range p.hosts {
		p.workers = append(p.workers, 1+r.IntN(3)*r.IntN(2))
	}
	p.demand = []float64{0.6, 1.5, 3}[r.IntN(3)]
	p.start = []time.Time{
		time.Date(2026, 10, 31, 22, 0, 0, 0, pacific), // before the day of 25 hours
		time.Date(2026, 10, 31, 13, 30, 0, 0, pacific),
		time.Date(2027, 3, 13, 20, 0, 0, 0, pacific),
		time.Date(2026, 6, 1, 12, 0, 0, 0, pacific),
	}[r.IntN(4)]
	p.losses = []int{0, 1, 1, 2, 3}[r.IntN(5)]
	p.outages = r.IntN(4)
	p.aways = r.IntN(4) * r.IntN(2)
	p.steps = r.IntN(3) * r.IntN(2)
	p.flaky = []float64{0, 0.01, 0.1}[r.IntN(3)]
	p.crashes = []float64{0, 0.001, 0.01}[r.IntN(3)]
	p.refunds = []float64{0, 0, 0.03}[r.IntN(3)]
	p.broken = r.IntN(8) == 0
	p.silent = []float64{0, 0, 1}[r.IntN(3)]
	p.lazy = r.IntN(6)
	p.unsure = []float64{0, 0, 0, 0.01}[r.IntN(4)]
	p.failover = r.IntN(8) == 0
	p.boot = r.IntN(8) == 0
	p.newcomer = p.hosts > 1 && r.IntN(6) == 0
	p.unsent = []float64{0, 0.3}[r.IntN(2)]
	return p
}

const (
	limit     = 1000
	cheap     = "videos.list"
	expensive = "search.list"
	grace     = 30 * time.Second
)

var pacific = func() *time.Location {
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		panic(err)
	}
	return zone
}()

// tariff is costs.yaml's with a tenth of the limits.
func tariff() *quota.Tariff {
	windows := func(limit int64) []quota.Window {
		return []quota.Window{{Name: "24h", Length: 24 * time.Hour, Limit: limit}, {Name: "day", Limit: limit}}
	}
	return &quota.Tariff{
		Upstream: "youtube", Table: "classic", Zone: pacific, Grace: grace,
		Ceilings: map[quota.Purpose]quota.Share{quota.Scheduled: 950_000, quota.Refresh: 950_000, quota.Backfill: 700_000, quota.Manual: 995_000},
		Failure:  quota.Failure{OpenAtMost: 1000, Emergency: 5000, SyncWait: 10 * time.Minute},
		Pools:    []quota.Pool{{Name: "search", Windows: windows(limit / 100)}, {Name: "units", Windows: windows(limit)}},
		Methods:  map[string]quota.Cost{cheap: {"units": 1}, expensive: {"units": 100, "search": 1}},
	}
}

// world is hosts, the server that they share, the upstream, and the faults between them. It runs in a synctest
// bubble: all that waits takes time of its own, down to the nanosecond, so that one thing happens after the other,
// and the same seed is the same run.
type world struct {
	plan
	tariff  *quota.Tariff
	server  *server
	hosts   []*host
	judge   judge
	planned int       // disasters
	began   time.Time // of the bubble's clock

	mu    sync.Mutex
	trace []string // nil: none is kept
	wait  sync.WaitGroup
}

// host is one data directory.
type host struct {
	*world

	id      int
	journal *memremote.Journal
	skew    time.Duration
	off     bool // switched off: no process runs
	cut     bool // from the server
	running map[*process]bool
	heard   time.Time // when it was answered last
}

func newWorld(p plan, traced bool) *world {
	w := &world{plan: p, tariff: tariff(), began: time.Now()}
	if traced {
		w.trace = []string{}
	}
	w.judge.world = w
	w.server = newServer(w)
	for i := range p.hosts {
		w.hosts = append(w.hosts, &host{world: w, id: i, running: map[*process]bool{},
			journal: &memremote.Journal{HostID: fmt.Sprintf("host-%d", i)}})
	}
	return w
}

// now is the true time, which the upstream's clock shows.
func (w *world) now() time.Time { return w.start.Add(time.Since(w.began)) }

func (h *host) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.world.now().Add(h.skew)
}

// say adds to the trace.
func (w *world) say(format string, args ...any) {
	if w.trace == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace = append(w.trace, w.now().In(pacific).Format("02 15:04:05.000000 ")+fmt.Sprintf(format, args...))
}

func (w *world) random(salt uint64) *rand.Rand { return rand.New(rand.NewPCG(w.seed, salt)) }

// run lets it all happen, and comes back when every goroutine has ended.
func (w *world) run() {
	for _, h := range w.hosts {
		r := w.random(100 + uint64(h.id))
		h.skew = between(r, -5*time.Second, 5*time.Second)
		if w.newcomer && h.id == len(w.hosts)-1 {
			h.off = true
		}
		for slot := range w.workers[h.id] {
			w.wait.Go(func() { defer w.order(); h.slot(slot) })
		}
	}
	w.disasters()
	w.wait.Wait()
	w.peace()
}

// sleep waits, unless it is over by then: false, at once.
func (w *world) sleep(d time.Duration) bool {
	if time.Since(w.began)+d > w.length {
		return false
	}
	w.rest(d)
	return true
}

// rest waits.
func (w *world) rest(d time.Duration) {
	w.order()
	time.Sleep(d)
	w.order()
}

// order shows the race detector, which does not know that fake time is an order too, that all later steps see the
// earlier ones.
func (w *world) order() {
	w.mu.Lock()
	defer w.mu.Unlock()
}

// between is a random duration down to the nanosecond.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}

// chance is true that often.
func chance(r *rand.Rand, share float64) bool { return share > 0 && r.Float64() < share }

type diceKey struct{}

// dice returns the dice of the actor that is under way with ctx.
func dice(ctx context.Context, otherwise *rand.Rand) *rand.Rand {
	if r, ok := ctx.Value(diceKey{}).(*rand.Rand); ok {
		return r
	}
	return otherwise
}
