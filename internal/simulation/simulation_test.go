package simulation_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

var simulationSeed = flag.Uint64("simulation-seed", 0, "run only this seed of the simulation, and say what happens")

// Three days of hourly charts of eight regions, on half the quota they want, with the real governor, protocol and
// passes. The ledger loses its memory, falls silent and loses replies; the upstream fails, refuses early and counts
// failed calls; and every process may die between any two steps. The upstream's own count is the judge.
func TestSimulation(t *testing.T) { simulateSeeds(t, 20) }

func TestLongSimulation(t *testing.T) { simulateSeeds(t, 200) }

func simulateSeeds(t *testing.T, seeds int) {
	t.Helper()
	began, total := time.Now(), simulated{}
	var workers sync.WaitGroup
	var next, lock = make(chan uint64), sync.Mutex{}
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := range next {
				one := threeDays(t, seed, inMemory)
				lock.Lock()
				total.add(one)
				lock.Unlock()
			}
		})
	}
	for seed := range uint64(seeds) {
		if !t.Failed() {
			next <- seed + 1
		}
	}
	close(next)
	workers.Wait()
	t.Logf("simulation: %d seeds x 3 days: %s, in %v", seeds, total, time.Since(began).Round(time.Second))
}

// The same on the real store and the real quota.db, as the ledger itself and as the journal beside a
// remote one.
func TestLongSimulationOnFiles(t *testing.T) {
	const seeds = uint64(4)
	for name, backend := range map[string]backend{"quota.db as the ledger": ledgerInAFile, "quota.db as the journal": journalInAFile} {
		total := simulated{}
		for seed := range seeds {
			total.add(threeDays(t, seed+1, backend))
			if t.Failed() {
				return
			}
		}
		t.Logf("simulation: %s: %d seeds x 3 days: %s", name, seeds, total)
	}
}

// TestSoakSimulation tries other seeds for as long as SOAK says, two seconds by default.
func TestSoakSimulation(t *testing.T) {
	long, err := time.ParseDuration(cmp.Or(os.Getenv("SOAK"), "2s"))
	if err != nil {
		t.Fatal(err)
	}
	total, seeds := simulated{}, 0
	for began, seed := time.Now(), uint64(time.Now().UnixNano()); time.Since(began) < long && !t.Failed(); seed++ {
		total.add(threeDays(t, seed, inMemory))
		seeds++
	}
	t.Logf("simulation: %d seeds x 3 days: %s", seeds, total)
}

// simulated is the course of a simulation.
type simulated struct{ arrived, deaths, doubts, losses, done, slots int }

func (s *simulated) add(o simulated) {
	s.arrived, s.deaths, s.doubts = s.arrived+o.arrived, s.deaths+o.deaths, s.doubts+o.doubts
	s.losses, s.done, s.slots = s.losses+o.losses, s.done+o.done, s.slots+o.slots
}

func (s simulated) String() string {
	return fmt.Sprintf("%d units arrived, %d processes died, %d replies in doubt, %d losses of the ledger's memory, %d of %d slots done",
		s.arrived, s.deaths, s.doubts, s.losses, s.done, s.slots)
}

// planet is the world of one seed.
type planet struct {
	t    *testing.T
	seed uint64
	r    *rand.Rand
	now  time.Time
	simulated

	tariff   *quota.Tariff
	schedule regions.Schedule
	memory   *memremote.Remote
	before   memremote.Image // the content of its disk
	kit      kit
	db       string // the planet's quota.db, if it has one

	life     int // steps until the process dies
	dead     bool
	silent   bool // the ledger
	calm     bool // nothing goes wrong any more
	arrivals []time.Time
	judged   int            // of them
	used     map[string]int // of them, by Pacific date
}

// kit is the part that outlives a process.
type kit struct {
	slots tables
	open  func(p *planet) (ledger quota.Ledger, emergency quota.EmergencyAccount, end func())
}

// tables is everything that a pass wants of a store.
type tables interface {
	fetch.Slots
	fetch.Sink
	fetch.Library
}

type backend func(p *planet) kit

func inMemory(p *planet) kit {
	journal := &memremote.Journal{}
	return kit{newSlotTable(), func(p *planet) (quota.Ledger, quota.EmergencyAccount, func()) { return p.share(journal) }}
}

func journalInAFile(p *planet) kit {
	k := ledgerInAFile(p)
	k.open = func(p *planet) (quota.Ledger, quota.EmergencyAccount, func()) {
		journal := p.file()
		shared, emergency, end := p.share(journal)
		return shared, emergency, func() { end(); _ = journal.Close() }
	}
	return k
}

func ledgerInAFile(p *planet) kit {
	dir := p.t.TempDir()
	p.db = filepath.Join(dir, "quota.db")
	s, err := store.Open(p.t.Context(), dir, store.Options{Upstream: "localhost", Now: p.clock})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = s.Close() })
	return kit{s, func(p *planet) (quota.Ledger, quota.EmergencyAccount, func()) {
		l := p.file()
		return l, l, func() { _ = l.Close() }
	}}
}

// file opens the planet's quota.db.
func (p *planet) file() *sqliteledger.Ledger {
	l, err := sqliteledger.Open(p.t.Context(), p.db)
	if err != nil {
		p.t.Fatal(err)
	}
	l.Now = p.clock
	return l
}

func (p *planet) share(journal sharedledger.Journal) (quota.Ledger, quota.EmergencyAccount, func()) {
	shared, err := sharedledger.Open(p.tariff, farAway{p.memory, p}, mortal{journal, p}, 1)
	if err != nil {
		p.t.Fatal(err)
	}
	shared.Host.Name, shared.Now, shared.Pause, shared.ShortWait = "here", p.clock, func(context.Context, time.Duration) {}, time.Hour
	return shared, shared, func() { _ = shared.Close() }
}

func (p *planet) clock() time.Time { return p.now }

func (p *planet) chance(percent int) bool { return !p.calm && p.r.IntN(100) < percent }

var errDead = errors.New("the process is dead")

// step is one step of the process that runs; it may be its last.
func (p *planet) step() error {
	p.now = p.now.Add(time.Duration(1+p.r.IntN(20)) * time.Millisecond)
	if p.life--; p.life == 0 && !p.dead {
		p.say("the process dies")
		p.dead = true
		p.deaths++
	}
	if p.dead {
		return errDead
	}
	return nil
}

const simulationCosts = `version: 1
upstreams:
  youtube:
    zone: America/Los_Angeles
    table: small
    grace: 30s
    ceilings: {scheduled: 90%, refresh: 90%, backfill: 70%, manual: 95%, client: 70%}
    failure: {open_at_most: 2%, emergency: 5%, settle: 10m}
    tables:
      small:
        pools: {units: {24h: 100, day: 100}}
        methods: {videos.list: {units: 1}}
`

const simulationLimit = 100

// threeDays runs one seed and judges it.
func threeDays(t *testing.T, seed uint64, b backend) simulated {
	if *simulationSeed != 0 && seed != *simulationSeed {
		return simulated{}
	}
	// Over the 25 hours of 1 November, Pacific.
	start := time.Date(2026, 10, 31, 3, 0, 0, 0, time.UTC)
	p := &planet{t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 1)), now: start, used: map[string]int{}}
	var err error
	if p.tariff, err = quota.ParseCosts("costs.yaml", []byte(simulationCosts), "youtube", ""); err != nil {
		t.Fatal(err)
	}
	job := ingest.Job{Name: "chart", Kind: ingest.KindChart, Regions: regions.Default(), Every: time.Hour, Pages: 1}
	if p.schedule, err = regions.NewSchedule([]ingest.Job{job}); err != nil {
		t.Fatal(err)
	}
	p.memory = &memremote.Remote{Now: p.clock}
	p.kit = b(p)
	for end := start.Add(72 * time.Hour); p.now.Before(end); {
		p.now = p.now.Add(time.Duration(p.r.IntN(120)) * time.Minute)
		p.weather()
		p.run(job)
		p.judge()
		if t.Failed() {
			t.Errorf("seed %d: go test . -run %s -simulation-seed %d -v", seed, t.Name(), seed)
			return p.simulated
		}
	}
	p.silent, p.calm, p.life, p.dead = false, true, 0, false
	p.now = p.now.Add(time.Minute)
	p.account()
	p.arrived = len(p.arrivals)
	return p.simulated
}

// say traces a seed that is being debugged.
func (p *planet) say(format string, args ...any) {
	if *simulationSeed != 0 {
		p.t.Logf("%s %3d arrived: %s", p.now.Format("02 15:04:05.000"), len(p.arrivals), fmt.Sprintf(format, args...))
	}
}

// weather is the events at the ledger between two runs.
func (p *planet) weather() {
	p.silent = p.chance(8)
	switch {
	case p.chance(4):
		p.say("the ledger forgets all")
		p.memory.Load(memremote.Image{})
		p.losses++
	case p.chance(4):
		p.say("the ledger comes back as it was")
		p.memory.Load(p.before)
		p.losses++
	case p.chance(30):
		p.say("snapshot")
		p.before = p.memory.Image()
	}
}

// run is one process.
func (p *planet) run(job ingest.Job) {
	p.dead, p.life = false, 0
	if p.chance(25) {
		p.life = 1 + p.r.IntN(60)
	}
	ledger, emergency, end := p.kit.open(p)
	g := &quota.Governor{Ledger: ledger, EmergencyAccount: emergency, Tariff: p.tariff, Account: "default", Now: p.clock}
	r := fetch.Reconciler{
		Jobs: map[string]ingest.Job{job.Name: job}, Schedule: p.schedule, Slots: crashingStore{p.kit.slots, p}, Sink: crashingStore{p.kit.slots, p}, Library: p.kit.slots,
		Upstream: skyward{p}, Quota: g, Owner: fmt.Sprint(p.r.Uint64()), Now: p.clock, Log: slog.New(slog.DiscardHandler),
		Pause: func(_ context.Context, d time.Duration) error { p.now = p.now.Add(d); return p.step() },
	}
	p.say("run, silent %t", p.silent)
	_, err := r.Run(p.t.Context(), fetch.RunOptions{})
	p.say("ran: %v", err)
	upstream := (*fetch.Error)(nil)
	if err != nil && !p.dead && !errors.Is(err, quota.ErrClosed) && !errors.As(err, &upstream) {
		p.t.Errorf("seed %d: a run that lived: %v", p.seed, err)
	}
	end() // writes nothing when the process is dead
}

// judge counts the arrivals: no 24 hours and no Pacific day above the limit.
func (p *planet) judge() {
	for i, at := range p.arrivals {
		if i < p.judged {
			continue
		}
		since, _ := slices.BinarySearchFunc(p.arrivals, at.Add(-24*time.Hour), func(a, b time.Time) int {
			if a.After(b) {
				return 1
			}
			return -1
		})
		if n := i + 1 - since; n > simulationLimit {
			p.t.Errorf("seed %d: I1: %d units arrived in the 24 hours to %s, want at most %v", p.seed, n, at, simulationLimit)
			return
		}
		date := at.In(p.tariff.Zone).Format(time.DateOnly)
		if p.used[date]++; p.used[date] > simulationLimit {
			p.t.Errorf("seed %d: I1: %d units arrived on %s, want at most %v", p.seed, p.used[date], date, simulationLimit)
			return
		}
	}
	p.judged = len(p.arrivals)
}

// account compares the ledger with the upstream, and the slots with the schedule.
func (p *planet) account() {
	ledger, emergency, end := p.kit.open(p)
	defer end()
	g := &quota.Governor{Ledger: ledger, EmergencyAccount: emergency, Tariff: p.tariff, Account: "default", Now: p.clock}
	report, err := g.Report(p.t.Context())
	if err != nil {
		p.t.Fatalf("seed %d: %v", p.seed, err)
	}
	arrived := 0
	for _, at := range p.arrivals {
		if p.now.Before(at.Add(24 * time.Hour)) {
			arrived++
		}
	}
	used := int(report.Pools[0].Windows[0].Used)
	if used < arrived {
		p.t.Errorf("seed %d: I2: the ledger counts %d of 24 hours, %d arrived", p.seed, used, arrived)
	}
	if more := used - arrived; more > p.doubts+p.deaths {
		p.t.Errorf("seed %d: I2: the ledger counts %d more than arrived, with %d calls in doubt", p.seed, more, p.doubts+p.deaths)
	}
	known, err := p.kit.slots.Newest(p.t.Context(), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	if err != nil || len(known) != 8 {
		p.t.Fatalf("seed %d: %d series %v", p.seed, len(known), err)
	}
	if s, ok := p.kit.slots.(*slotTable); ok {
		s.check(p, known)
	}
}

// farAway is the connection to the remote ledger.
type farAway struct {
	*memremote.Remote

	p *planet
}

var (
	errFarAway = fmt.Errorf("%w: connection refused", quota.ErrUnavailable)
	errReset   = fmt.Errorf("%w: %w: connection reset", quota.ErrUnavailable, quota.ErrInDoubt)
)

func (f farAway) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	if err := f.leave(); err != nil {
		return quota.Decision{}, err
	}
	d, err := f.Remote.TakeOnce(ctx, a, op)
	if err == nil {
		f.p.say("take %s %d: allowed %t, used %d", op.Writer[:4], op.Number, d.Allowed, d.Pools[0].Windows[0].Used)
	} else {
		f.p.say("take %s %d: %v", op.Writer[:4], op.Number, err)
	}
	if f.p.chance(3) {
		f.p.doubts++
		return quota.Decision{}, errReset
	}
	return d, errors.Join(err, f.p.step())
}

func (f farAway) State(ctx context.Context, account string, writers []string) (sharedledger.RemoteState, error) {
	if err := f.leave(); err != nil {
		return sharedledger.RemoteState{}, err
	}
	return f.Remote.State(ctx, account, writers)
}

func (f farAway) Renew(ctx context.Context, r sharedledger.Renewal) (sharedledger.Generation, error) {
	if err := f.leave(); err != nil {
		return 0, err
	}
	g, err := f.Remote.Renew(ctx, r)
	return g, errors.Join(err, f.arrive())
}

func (f farAway) Sync(ctx context.Context, d sharedledger.Batch) (time.Time, error) {
	if err := f.leave(); err != nil {
		return time.Time{}, err
	}
	for _, row := range d.Rows {
		f.p.say("sync %s %d of %s, state %d", row.Writer[:4], row.Number, row.At.Format("02 15:04:05"), row.State)
	}
	for _, l := range d.Snapshots {
		f.p.say("look of %s in generation %d: %v", l.At.Format("02 15:04:05"), l.Generation, l.Windows)
	}
	at, err := f.Remote.Sync(ctx, d)
	return at, errors.Join(err, f.arrive())
}

func (f farAway) Refund(ctx context.Context, account string, d quota.Decision) error {
	if err := f.leave(); err != nil {
		f.p.doubts++
		return err
	}
	return f.Remote.Refund(ctx, account, d)
}

func (f farAway) Close() error { return nil }

// leave is a request on its way, arrive its reply.
func (f farAway) leave() error {
	if err := f.p.step(); err != nil {
		return err
	}
	if f.p.silent || f.p.chance(1) {
		return errFarAway
	}
	return nil
}

func (f farAway) arrive() error {
	if f.p.chance(2) {
		return errReset
	}
	return f.p.step()
}

// mortal is the journal of a process that may die before or after each of its writes.
type mortal struct {
	sharedledger.Journal

	p *planet
}

func (m mortal) Begin(ctx context.Context, row sharedledger.Row, n sharedledger.Notes) (int64, sharedledger.JournalState, error) {
	if err := m.p.step(); err != nil {
		return 0, sharedledger.JournalState{}, err
	}
	id, state, err := m.Journal.Begin(ctx, row, n)
	return id, state, errors.Join(err, m.p.step())
}

func (m mortal) Note(ctx context.Context, account string, n sharedledger.Notes) error {
	if err := m.p.step(); err != nil {
		return err
	}
	return errors.Join(m.Journal.Note(ctx, account, n), m.p.step())
}

func (m mortal) Allow(ctx context.Context, row sharedledger.Row, budgets []quota.EmergencyBudget) (int64, error) {
	if err := m.p.step(); err != nil {
		return 0, err
	}
	id, err := m.Journal.Allow(ctx, row, budgets)
	return id, errors.Join(err, m.p.step())
}

func (m mortal) RefundEmergency(ctx context.Context, account string, id int64) error {
	if err := m.p.step(); err != nil {
		return err
	}
	return errors.Join(m.Journal.RefundEmergency(ctx, account, id), m.p.step())
}

// skyward is the upstream: it counts every arrival, even of calls that it fails.
type skyward struct{ p *planet }

func (skyward) Limits() fetch.Limits { return fetch.Limits{IDsPerCall: 50} }

func (u skyward) Videos([]string) fetch.Call[ingest.Page] { panic("there is no refresh here") }

func (u skyward) Chart(region ingest.Region, _, _ string) fetch.Call[ingest.Page] {
	return fetch.Call[ingest.Page]{Method: "videos.list", Region: region, Do: func(context.Context) (ingest.Page, error) {
		p := u.p
		if err := p.step(); err != nil {
			return ingest.Page{}, err
		}
		if p.chance(2) {
			return ingest.Page{}, &fetch.Error{Verdict: fetch.Unsent, Err: errors.New("no route")}
		}
		if p.chance(5) {
			p.now = p.now.Add(time.Duration(p.r.IntN(25)) * time.Second) // on its way
		}
		p.arrivals = append(p.arrivals, p.now)
		if err := p.step(); err != nil {
			return ingest.Page{}, err
		}
		switch {
		case p.chance(4):
			return ingest.Page{}, &fetch.Error{Verdict: fetch.Broken, Err: errors.New("503")}
		case p.r.IntN(1000) == 0: // it counts calls that we do not know of
			return ingest.Page{}, &fetch.Error{Verdict: fetch.Spent, Err: errors.New("403")}
		}
		views := int64(1)
		return ingest.Page{Videos: []ingest.Video{{ID: "video" + string(region), Title: "t", Views: &views}}}, nil
	}}
}

// crashingStore is the table of slots of a process that may die.
type crashingStore struct {
	tables
	p *planet
}

func (s crashingStore) AddDue(ctx context.Context, slots []ingest.Slot) error {
	return s.do(func() error { return s.tables.AddDue(ctx, slots) })
}

func (s crashingStore) Newest(ctx context.Context, now time.Time) (known map[ingest.Series]time.Time, err error) {
	err = s.do(func() error { known, err = s.tables.Newest(ctx, now); return err })
	return known, err
}

func (s crashingStore) Claim(ctx context.Context, c ingest.Claim) (slot ingest.Slot, ok bool, err error) {
	err = s.do(func() error { slot, ok, err = s.tables.Claim(ctx, c); return err })
	return slot, ok, err
}

func (s crashingStore) Retire(ctx context.Context, gone map[ingest.Series]string) error {
	return s.do(func() error { return s.tables.Retire(ctx, gone) })
}

func (s crashingStore) Finish(ctx context.Context, slot ingest.Slot) error {
	return s.do(func() error { return s.tables.Finish(ctx, slot) })
}

func (s crashingStore) SavePage(ctx context.Context, slot ingest.Slot, page ingest.Page) (saved ingest.Slot, err error) {
	err = s.do(func() error { saved, err = s.tables.SavePage(ctx, slot, page); return err })
	return saved, err
}

func (s crashingStore) do(what func() error) error {
	if err := s.p.step(); err != nil {
		return err
	}
	return errors.Join(what(), s.p.step())
}
