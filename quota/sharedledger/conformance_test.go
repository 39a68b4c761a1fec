package sharedledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// A shared ledger over a remote that loses replies, and all it knows, is held to the suite as any
// other: G1 and G5 are its main purpose. Random steps of another seed each time: see quotatest.Differential.
func TestDifferential(t *testing.T) { quotatest.Differential(t, inMemory(), 5_000) }

func TestSoakDifferential(t *testing.T) { quotatest.SoakDifferential(t, inMemory()) }

// inMemory is a shared ledger over a remote and a journal in memory.
func inMemory() quotatest.Backend {
	return quotatest.Backend{
		Name: "shared, in memory",
		Open: func(t testing.TB, clock *quotatest.Clock) quotatest.Store {
			memory := &memremote.Remote{Now: clock.Now}
			line := &unsure{Remote: memory}
			journal := &memremote.Journal{}
			open := func(t testing.TB) quota.Ledger {
				l := &everyAccount{remote: line, journal: journal, now: clock.Now, open: map[string]*sharedledger.Ledger{}}
				t.Cleanup(func() { _ = l.Close() })
				return l
			}
			return quotatest.Store{
				Ledger: open(t), Another: open,
				LoseReply: func(testing.TB) { line.lose() },
				Evict:     func(testing.TB) { memory.Load(memremote.Image{}) },
			}
		},
		Without: map[quotatest.Capability]string{
			quotatest.Counts:   "a journal stands beside it, which its data directory keeps",
			quotatest.Address:  "it lives in one process",
			quotatest.OwnClock: "its clock is its caller's",
			quotatest.InFile:   "it is in memory",
		},
		Steps: 2000, Entries: 300, Forward: true,
	}
}

func TestSharedConforms(t *testing.T) {
	b := inMemory()
	for _, c := range quotatest.Cases() {
		if strings.HasPrefix(c.String(), "H1 a clock that was set back") {
			continue // a post that the remote does not take is taken by the journal: there is no error
		}
		if c.ID == "L9" {
			continue // its remote and its journal make the cost, and the ones in memory are simple
		}
		if why, ok := b.Without[c.Needs]; ok {
			t.Logf("%s is not run: %s", c, why)
			continue
		}
		t.Run(c.String(), func(t *testing.T) { c.Check(t, b) })
	}
}

// unsure is a remote that loses one reply.
type unsure struct {
	*memremote.Remote

	mu    sync.Mutex
	armed bool
}

func (l *unsure) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = true
}

func (l *unsure) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	d, err := l.Remote.TakeOnce(ctx, a, op)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.armed {
		l.armed = false
		return quota.Decision{}, fmt.Errorf("%w: %w: connection reset", quota.ErrUnavailable, quota.ErrInDoubt)
	}
	return d, err
}

// everyAccount opens a shared ledger for each account that is asked for.
type everyAccount struct {
	remote  sharedledger.Remote
	journal sharedledger.Journal
	now     func() time.Time

	mu   sync.Mutex
	open map[string]*sharedledger.Ledger
}

// suiteTariff has the suite's pools and its longest window.
var suiteTariff = &quota.Tariff{Zone: time.UTC, Failure: quota.Failure{SyncWait: 10 * time.Minute}, Pools: []quota.Pool{
	{Name: "burst"}, {Name: "other"}, {Name: "search"}, {Name: "units", Windows: []quota.Window{{Name: "65h", Length: 65 * time.Hour, Limit: 1}}},
}}

func (l *everyAccount) of(account string) *sharedledger.Ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.open[account]
	if !ok {
		var err error
		if s, err = sharedledger.Open(suiteTariff, l.remote, l.journal, 1); err != nil {
			panic(err)
		}
		s.Account, s.Now, s.Pause = account, l.now, func(context.Context, time.Duration) {}
		l.open[account] = s
	}
	return s
}

func (l *everyAccount) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	d, err := l.of(a.Account).Take(ctx, a)
	d.Row = 0 // is for Refund only, which finds the operation by its time here
	return d, err
}

func (l *everyAccount) Refund(ctx context.Context, account string, d quota.Decision) error {
	return l.of(account).Refund(ctx, account, d)
}

func (l *everyAccount) Post(ctx context.Context, a quota.Ask, at time.Time) error {
	return l.of(a.Account).Post(ctx, a, at)
}

func (l *everyAccount) Drain(ctx context.Context, account, pool string, d quota.Drain) error {
	return l.of(account).Drain(ctx, account, pool, d)
}

func (l *everyAccount) Reset(ctx context.Context, account string) error {
	return l.of(account).Reset(ctx, account)
}

func (l *everyAccount) Spent(ctx context.Context, account string, since time.Time, every time.Duration) ([]quota.Spent, error) {
	return l.of(account).Spent(ctx, account, since, every)
}

func (l *everyAccount) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, s := range l.open {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
