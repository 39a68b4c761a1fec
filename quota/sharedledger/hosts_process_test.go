package sharedledger_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// process is one run of the program on a host.
type process struct {
	*host

	name     string
	dead     bool
	shared   *sharedledger.Ledger
	governor *quota.Governor
	probes   *rand.Rand // for what runs beside
}

// slot is where one process follows another on a host.
func (h *host) slot(slot int) {
	r := h.random(1000 + uint64(h.id)*10 + uint64(slot))
	for n := 0; h.sleep(between(r, 0, 20*time.Minute)); n++ {
		if h.off {
			continue
		}
		p := h.start(fmt.Sprintf("h%d.%d.%d", h.id, slot, n), r)
		serve := chance(r, 0.5)
		var wait sync.WaitGroup
		for worker := range 1 + r.IntN(2)*r.IntN(2) {
			dice := rand.New(rand.NewPCG(r.Uint64(), uint64(worker)))
			wait.Go(func() { defer p.order(); p.work(dice, serve) })
		}
		wait.Wait()
		p.end()
	}
}

// start opens the ledger as a new process does.
func (h *host) start(name string, r *rand.Rand) *process {
	p := &process{host: h, name: name, probes: rand.New(rand.NewPCG(r.Uint64(), 2))}
	h.running[p] = true
	h.order()
	var j sharedledger.Journal = h.journal
	if h.without == journals {
		j = &memremote.Journal{HostID: h.journal.HostID}
	}
	var err error
	if p.shared, err = sharedledger.Open(h.tariff, &link{process: p, server: h.server}, &hostJournal{process: p, journal: j}, len(h.hosts)); err != nil {
		panic(err)
	}
	if h.without == settling {
		p.shared.SyncWait = time.Nanosecond
	}
	p.shared.Host.Name, p.shared.Now = fmt.Sprintf("host %d", h.id), h.now
	p.shared.Pause = func(_ context.Context, d time.Duration) { h.rest(d) }
	p.governor = &quota.Governor{Ledger: p.shared, EmergencyAccount: &emergencyAccount{p}, Tariff: h.tariff, Account: "default", Now: h.now}
	h.say("%s starts", name)
	return p
}

// end closes the ledger, or does not where the process died.
func (p *process) end() {
	p.order()
	delete(p.running, p)
	p.order()
	if !p.dead {
		_ = p.shared.Close()
	}
	p.say("%s is gone", p.name)
}

// work asks and calls until the process ends: a server's life, or one pass.
func (p *process) work(r *rand.Rand, serve bool) {
	ctx := context.WithValue(context.Background(), diceKey{}, r)
	p.rest(between(r, 0, time.Millisecond)) // one after the other
	passes := 1
	if serve {
		passes = 1 + r.IntN(60)
	}
	for range passes {
		calls := 1 + r.IntN(4)
		if p.lazy == p.id {
			calls *= 10
		}
		for range calls {
			if p.dead {
				return
			}
			p.call(ctx, r)
			if !p.sleep(between(r, 10*time.Millisecond, 4*time.Second)) {
				return
			}
		}
		if !p.sleep(between(r, 0, p.pause())) {
			return
		}
	}
}

// pause is the longest wait between passes that keeps the planned demand.
func (p *process) pause() time.Duration {
	slots := 0
	for _, n := range p.workers {
		slots += n
	}
	const perPass = 2.5 * 9 // calls, of one in twelve costs 100
	passes := p.demand * limit / perPass / float64(slots)
	pause := time.Duration(2 * float64(24*time.Hour) / passes)
	if p.lazy == p.id {
		pause *= 10
	}
	return pause
}

// try is one attempt to make a call.
type try struct {
	cost     quota.Cost
	silences int     // how often no answer came
	charge   *charge // the take that the ledger last admitted
}

type tryKey struct{}

func trying(ctx context.Context) *try {
	t, _ := ctx.Value(tryKey{}).(*try)
	return t
}

// call makes one call if it may.
func (p *process) call(ctx context.Context, r *rand.Rand) {
	method, purpose := cheap, quota.Purposes()[r.IntN(4)]
	if r.IntN(12) == 0 {
		method = expensive
	}
	t := &try{cost: p.tariff.Methods[method]}
	ctx = context.WithValue(ctx, tryKey{}, t)
	doubt := true
	defer func() { // also where the process dies on the way
		if doubt {
			p.judge.doubts(t.cost)
		}
	}()
	d, err := p.governor.Take(ctx, quota.Request{Method: method, Region: "US", Purpose: purpose})
	p.say("%s %s for %s: %s", p.name, method, purpose, short(d, err))
	if err != nil || !d.Allowed {
		p.judge.stopped()
		doubt = t.silences > 0
		return
	}
	p.rest(between(r, 0, 5*time.Second))
	switch {
	case p.dead && r.IntN(2) == 0: // it never left
	case !d.Degraded && chance(r, p.refunds):
		err := p.governor.Refund(ctx, d)
		p.say("%s gives back: %v", p.name, err)
		p.judge.gaveBack(t, err)
		doubt = err != nil
	case d.Degraded && chance(r, p.unsent):
		err := p.governor.Refund(ctx, d)
		p.say("%s gives back what went on without the ledger: %v", p.name, err)
		p.judge.stopped()
		if doubt = err != nil || t.silences > 0; !doubt {
			p.judge.neverLeft(p.host, d.Row)
		}
	default:
		p.judge.arrives(p, t, d)
		doubt = d.Degraded && t.silences > 0
	}
}

func short(d quota.Decision, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case !d.Allowed:
		return "refused, " + d.Refusal.String()
	case d.Degraded:
		return "allowed without the ledger"
	default:
		s := "allowed"
		for _, w := range d.Pools[len(d.Pools)-1].Windows {
			s += fmt.Sprintf(", %d in %s", w.Used, w.Window.Name)
		}
		return s
	}
}

// step is a moment at which the process may die.
func (p *process) step(ctx context.Context, r *rand.Rand) {
	_, main := ctx.Value(diceKey{}).(*rand.Rand)
	if !main {
		return // a goroutine beside, which dies with the rest
	}
	if !p.dead && chance(r, p.crashes) {
		p.dead = true
		p.order()
		p.say("%s dies", p.name)
	}
	if p.dead {
		runtime.Goexit()
	}
}

// emergencyAccount belongs to the shared ledger, asked at a time of its own: with two asks at once, both are equal.
type emergencyAccount struct{ *process }

func (a *emergencyAccount) LastUsage(ctx context.Context, account string) ([]quota.LastUsage, error) {
	a.rest(between(dice(ctx, a.probes), time.Microsecond, 50*time.Microsecond))
	return a.shared.LastUsage(ctx, account)
}

func (a *emergencyAccount) Spend(ctx context.Context, e quota.Emergency, budgets []quota.EmergencyBudget) (int64, error) {
	a.rest(between(dice(ctx, a.probes), time.Microsecond, 50*time.Microsecond))
	return a.shared.Spend(ctx, e, budgets)
}

func (a *emergencyAccount) Left(ctx context.Context, account string, at time.Time, budgets []quota.EmergencyBudget) ([]int64, error) {
	return a.shared.Left(ctx, account, at, budgets)
}

func (a *emergencyAccount) RefundEmergency(ctx context.Context, account string, row int64) error {
	a.rest(between(dice(ctx, a.probes), time.Microsecond, 50*time.Microsecond))
	return a.shared.RefundEmergency(ctx, account, row)
}

var errDead = errors.New("the process is dead")

// hostJournal is a process's way to the journal of its host.
type hostJournal struct {
	*process

	journal sharedledger.Journal
}

var errDisk = fmt.Errorf("%w: no space left on device", quota.ErrUnavailable)

// on does one journal operation, which takes time, and before and after which the process may die.
func (j *hostJournal) on(ctx context.Context, write func() error) error {
	r := dice(ctx, j.probes)
	j.step(ctx, r)
	j.rest(between(r, time.Microsecond, 2*time.Millisecond))
	if j.dead {
		j.step(ctx, r)
		return errDead
	}
	err := write()
	j.step(ctx, r)
	if err == nil && chance(r, j.unsure) {
		if t := trying(ctx); t != nil {
			t.silences++
		}
		return errDisk
	}
	return err
}

func (j *hostJournal) State(ctx context.Context, account string) (s sharedledger.JournalState, err error) {
	err = j.on(ctx, func() error { s, err = j.journal.State(ctx, account); return err })
	return s, err
}

func (j *hostJournal) Begin(ctx context.Context, row sharedledger.Row, n sharedledger.Notes) (id int64, s sharedledger.JournalState, err error) {
	err = j.on(ctx, func() error { id, s, err = j.journal.Begin(ctx, row, n); return err })
	return id, s, err
}

func (j *hostJournal) Note(ctx context.Context, account string, n sharedledger.Notes) error {
	return j.on(ctx, func() error { return j.journal.Note(ctx, account, n) })
}

func (j *hostJournal) Rows(ctx context.Context, account string, since time.Time, owed bool) (rows []sharedledger.Row, err error) {
	err = j.on(ctx, func() error {
		rows, err = j.journal.Rows(ctx, account, since, owed)
		j.judge.listed(j.host, rows)
		return err
	})
	return rows, err
}

func (j *hostJournal) Allow(ctx context.Context, row sharedledger.Row, budgets []quota.EmergencyBudget) (id int64, err error) {
	err = j.on(ctx, func() error { id, err = j.journal.Allow(ctx, row, budgets); return err })
	return id, err
}

func (j *hostJournal) RefundEmergency(ctx context.Context, account string, id int64) error {
	return j.on(ctx, func() error { return j.journal.RefundEmergency(ctx, account, id) })
}

func (j *hostJournal) Left(ctx context.Context, account string, at time.Time, budgets []quota.EmergencyBudget) (left []int64, err error) {
	err = j.on(ctx, func() error { left, err = j.journal.Left(ctx, account, at, budgets); return err })
	return left, err
}
