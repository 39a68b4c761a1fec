package quotatest

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// SharedBackend makes the parts of a sharedledger.Ledger, for RunShared. For a ledger alone see Backend.
type SharedBackend struct {
	// Remote is a fresh server whose clock is the given one. open connects to it, once for each process; empty makes
	// it forget everything except its scripts. t.Cleanup closes the opened parts.
	Remote func(t testing.TB, clock *Clock) (open func() sharedledger.Remote, empty func())
	// Journal is the journal of a fresh data directory, opened once for each process. t.Cleanup closes them.
	Journal func(t testing.TB) (open func() sharedledger.Journal)
}

// SharedCase is one promise of several data directories on one remote.
type SharedCase struct {
	ID, Name string
	check    func(*town)
}

// String returns the case's name as a test: its id first.
func (c SharedCase) String() string { return c.ID + " " + c.Name }

// Check checks the promise on a fresh remote and fresh data directories.
func (c SharedCase) Check(t testing.TB, b SharedBackend) {
	t.Helper()
	w := &town{TB: t, backend: b, clock: NewClock(noon), limit: 1000}
	w.open, w.empty = b.Remote(t, w.clock)
	c.check(w)
}

// SharedCases are all of them.
func SharedCases() []SharedCase {
	return slices.Concat(losses, strangers, membership, corrected, doubts)
}

// RunShared runs every case on a sharedledger.Ledger over the backend, each as a subtest.
func RunShared(t *testing.T, b SharedBackend) {
	t.Helper()
	for _, c := range SharedCases() {
		t.Run(c.String(), func(t *testing.T) { c.Check(t, b) })
	}
}

// account is the account of all programs.
const account = "default"

// town has the data directories that share a remote.
type town struct {
	testing.TB

	backend SharedBackend
	clock   *Clock
	open    func() sharedledger.Remote
	empty   func()
	limit   int64

	mu   sync.Mutex
	sent int64 // units of the calls that were made
	said bytes.Buffer
}

// settle is how long a new generation waits at most.
const settle = 10 * time.Minute

type directory struct {
	*town

	name    string
	journal func() sharedledger.Journal
	hosts   int // as its config says
}

func (w *town) directory(name string, hosts int) *directory {
	return &directory{town: w, name: name, journal: w.backend.Journal(w), hosts: hosts}
}

// program is one process on a data directory.
type program struct {
	*directory

	ledger *sharedledger.Ledger
}

// starts opens the ledger as a new process does, over the remote as the process sees it.
func (d *directory) starts(through ...func(sharedledger.Remote) sharedledger.Remote) *program {
	remote := d.open()
	for _, change := range through {
		remote = change(remote)
	}
	tariff := &quota.Tariff{Zone: time.UTC, Failure: quota.Failure{SyncWait: settle}, Pools: []quota.Pool{{Name: "units"}}}
	l, err := sharedledger.Open(tariff, remote, d.journal(), d.hosts)
	if err != nil {
		d.Fatal(err)
	}
	l.Account, l.Host.Name, l.Now, l.Log = account, d.name, d.clock.Now,
		slog.New(slog.NewTextHandler(&locked{w: d.town}, nil))
	l.Pause, l.ShortWait = func(context.Context, time.Duration) {}, time.Minute
	d.Cleanup(func() { _ = l.Close() })
	return &program{directory: d, ledger: l}
}

// locked collects log lines, for concurrent writers.
type locked struct{ w *town }

func (l *locked) Write(b []byte) (int, error) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return l.w.said.Write(b)
}

func (w *town) says(what string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Contains(w.said.Bytes(), []byte(what))
}

func (p *program) ask(amount int64) quota.Ask {
	now := p.clock.Now()
	return quota.Ask{Account: account, Who: quota.Who{Purpose: quota.Manual, Region: p.name, Method: "videos.list"},
		Charges:   []quota.Charge{charge("units", amount, per(24*time.Hour, p.limit))},
		Midnights: quota.Midnights(now, time.UTC),
		Horizon:   quota.MinHorizon, Now: now}
}

// tries takes, and makes the call if the take is admitted. A call without a decision is no failure.
func (p *program) tries(amount int64) (quota.Decision, error) {
	p.Helper()
	d, err := p.ledger.Take(p.Context(), p.ask(amount))
	if err == nil && d.Allowed {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.sent += amount; p.sent > p.limit {
			p.Errorf("%s: %s sends %d, which makes %d of %d", p.clock.Now().Format(time.TimeOnly),
				p.name, amount, p.sent, p.limit)
		}
	}
	return d, err
}

// takes wants it admitted.
func (p *program) takes(amount int64) quota.Decision {
	p.Helper()
	d, err := p.tries(amount)
	if err != nil || !d.Allowed {
		p.Fatalf("%s: %s takes %d: %+v %v, want it admitted", p.clock.Now().Format(time.TimeOnly),
			p.name, amount, d.Refusal, err)
	}
	p.clock.Advance(second)
	return d
}

// closed wants no decision: the ledger cannot say.
func (p *program) closed(amount int64) {
	p.Helper()
	if d, err := p.tries(amount); !errors.Is(err, quota.ErrUnavailable) {
		p.Fatalf("%s: %s takes %d: %+v %v, want it closed", p.clock.Now().Format(time.TimeOnly), p.name, amount, d, err)
	}
}

// peeks peeks, whether or not it succeeds, and lets the breaker close again.
func (p *program) peeks() {
	p.Helper()
	if _, err := p.tries(0); err != nil && !errors.Is(err, quota.ErrUnavailable) {
		p.Fatalf("%s: %s peeks: %v", p.clock.Now().Format(time.TimeOnly), p.name, err)
	}
	p.clock.Advance(second)
}

// allTake lets each program take a unit; one that must wait for the others first tries twice.
func (w *town) allTake(all ...*program) {
	w.Helper()
	for round := range 2 {
		for _, p := range all {
			if _, err := p.tries(1); err != nil && round > 0 {
				w.Fatalf("%s: %s: %v", w.clock.Now().Format(time.TimeOnly), p.name, err)
			}
			w.clock.Advance(second)
		}
	}
}

// counted returns the remote's count.
func (w *town) counted() (sum int64) {
	w.Helper()
	spent, err := w.open().Spent(w.Context(), account, noon.Add(-time.Hour), 0)
	if err != nil {
		w.Fatal(err)
	}
	for _, s := range spent {
		sum += s.Amount
	}
	return sum
}

// exactly wants the remote's count to equal the sent calls.
func (w *town) exactly() {
	w.Helper()
	if got := w.counted(); got != w.sent {
		w.Fatalf("%s: the ledger counts %d, sent were %d", w.clock.Now().Format(time.TimeOnly), got, w.sent)
	}
}

// broke takes until a refusal.
func (p *program) broke() {
	p.Helper()
	for range p.limit + 1 {
		d, err := p.tries(1)
		if err != nil {
			p.Fatalf("%s: %s: %v", p.clock.Now().Format(time.TimeOnly), p.name, err)
		}
		if !d.Allowed {
			return
		}
	}
	p.Fatalf("%s is never refused", p.name)
}
