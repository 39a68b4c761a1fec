// Package memremote is a shared ledger's remote, and a data directory's journal, in memory, to test several hosts on
// one ledger without a server. An Image is the content that a server would keep on disk.
package memremote

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/memlog"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Remote implements sharedledger.Remote. The zero value is ready to use.
type Remote struct {
	Now func() time.Time // the ledger's clock; nil is time.Now

	mu       sync.Mutex
	accounts map[string]*account
}

// account is an account in memory, with the other data of a remote.
type account struct {
	memlog.Account[note]

	lengths map[string]int                   // of the logs, as the state says
	raised  map[string][]sharedledger.Raised // by pool

	generation sharedledger.Generation // 0: the ledger is not shared, and has neither writers nor hosts
	born       time.Time
	writers    map[string]writer
	hosts      []sharedledger.Host
}

// note has the fields that a sync adds to an entry; see sharedledger.Entry.
type note struct {
	synced, since int64
	generation    sharedledger.Generation
}

// Take implements quota.Ledger.
func (l *Remote) Take(_ context.Context, a quota.Ask) (d quota.Decision, err error) {
	err = l.on(a.Account, func(acc *account, clock time.Time) error {
		now, err := a.Advance(clock, acc.Newest(a))
		if err != nil {
			return err
		}
		d, err = acc.draw(a, clock, now)
		return err
	})
	return d, err
}

func (a *account) draw(ask quota.Ask, clock, now time.Time) (quota.Decision, error) {
	if err := a.whole(ask.Charges); err != nil {
		return quota.Decision{}, err
	}
	a.Use(ask.Horizon, now)
	return a.Draw(ask, clock, now)
}

// Refund implements quota.Ledger.
func (l *Remote) Refund(_ context.Context, name string, d quota.Decision) error {
	return l.on(name, func(acc *account, clock time.Time) error { return acc.Refund(d, clock) })
}

// Post implements quota.Ledger.
func (l *Remote) Post(_ context.Context, a quota.Ask, at time.Time) error {
	return l.on(a.Account, func(acc *account, clock time.Time) error {
		now, err := a.Advance(clock, acc.Newest(a))
		if err == nil {
			acc.Use(a.Horizon, now)
			acc.Post(a, at, now)
		}
		return err
	})
}

// Drain implements quota.Ledger.
func (l *Remote) Drain(_ context.Context, name, pool string, d quota.Drain) error {
	if err := d.Check(name, pool); err != nil {
		return err
	}
	return l.on(name, func(acc *account, clock time.Time) error {
		acc.Use(quota.MinHorizon, clock)
		p := acc.Pool(pool)
		p.Drain = d.Over(p.Drain, clock)
		return nil
	})
}

// Reset implements quota.Ledger.
func (l *Remote) Reset(_ context.Context, name string) error {
	return l.on(name, func(acc *account, _ time.Time) error {
		if acc.generation != 0 {
			return fmt.Errorf("%w: account %s is in generation %d", quota.ErrShared, name, acc.generation)
		}
		acc.Reset()
		return nil
	})
}

// Spent implements quota.Ledger.
func (l *Remote) Spent(_ context.Context, name string, since time.Time,
	every time.Duration) (out []quota.Spent, err error) {
	err = l.on(name, func(acc *account, _ time.Time) error {
		out = acc.Spent(since, every)
		return nil
	})
	return out, err
}

// Close implements quota.Ledger.
func (l *Remote) Close() error { return nil }

// on calls do with an account, a new one if needed. The state follows do's changes to a log; entries that were
// missing before stay missing.
func (l *Remote) on(name string, do func(acc *account, clock time.Time) error) error {
	if err := quota.CheckAccount(name); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	clock := time.Now().Truncate(time.Microsecond)
	if l.Now != nil {
		clock = l.Now().Truncate(time.Microsecond)
	}
	acc := l.accounts[name]
	if acc == nil {
		acc = &account{lengths: map[string]int{}, raised: map[string][]sharedledger.Raised{}, writers: map[string]writer{}}
		if l.accounts == nil {
			l.accounts = map[string]*account{}
		}
		l.accounts[name] = acc
	}
	missing := map[string]int{}
	for _, p := range acc.Pools {
		missing[p.Name] = acc.lengths[p.Name] - len(p.Log.Entries)
	}
	err := do(acc, clock)
	for _, p := range acc.Pools {
		acc.lengths[p.Name] = missing[p.Name] + len(p.Log.Entries)
	}
	return err
}

// whole returns ErrLost for a log that is not as long as the state says.
func (a *account) whole(charges []quota.Charge) error {
	for name, length := range a.lengths {
		concerned := charges == nil || slices.ContainsFunc(charges, func(c quota.Charge) bool { return c.Pool == name })
		if n := a.length(name); concerned && n != length {
			return fmt.Errorf("%w: pool %s has %d entries of %d", sharedledger.ErrLost, name, n, length)
		}
	}
	return nil
}

// length is how many entries a pool's log has.
func (a *account) length(pool string) int {
	if p := a.Find(pool); p != nil {
		return len(p.Log.Entries)
	}
	return 0
}

// Image is everything that a ledger knows at one time: the content that a server would keep on disk. It does not
// change.
type Image struct{ accounts map[string]*account }

// Image copies the ledger's memory.
func (l *Remote) Image() Image {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Image{cloneAccounts(l.accounts)}
}

// Load replaces the ledger's memory by the image, as a server does when it starts from its disk: the zero Image is an
// empty disk.
func (l *Remote) Load(i Image) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accounts = cloneAccounts(i.accounts)
}

// WithoutPart returns the image without the "log" of the account's pool units, without that "pool", or without the
// "writers".
func (i Image) WithoutPart(account, part string) Image {
	i = i.Without(account, map[string]string{"log": "units"}[part])
	switch a := i.accounts[account]; part {
	case "pool":
		a.Pools = slices.DeleteFunc(a.Pools, func(p *memlog.Pool[note]) bool { return p.Name == "units" })
	case "writers":
		clear(a.writers)
	}
	return i
}

// Without returns the image after an eviction: of the account or, if pools are named, of their logs.
func (i Image) Without(account string, pools ...string) Image {
	accounts := cloneAccounts(i.accounts)
	if a := accounts[account]; a != nil {
		for _, p := range a.Pools {
			if slices.Contains(pools, p.Name) {
				p.Log = memlog.Log[note]{} // its length stays in the state
			}
		}
	}
	if len(pools) == 0 {
		delete(accounts, account)
	}
	return Image{accounts}
}

func cloneAccounts(accounts map[string]*account) map[string]*account {
	out := make(map[string]*account, len(accounts))
	for name, a := range accounts {
		c := *a
		c.Pools = nil
		for _, p := range a.Pools {
			q := *p
			q.Log.Entries = slices.Clone(p.Log.Entries)
			c.Pools = append(c.Pools, &q)
		}
		// Their content is never written into.
		c.lengths, c.raised, c.writers, c.hosts = maps.Clone(a.lengths), maps.Clone(a.raised),
			maps.Clone(a.writers), slices.Clone(a.hosts)
		out[name] = &c
	}
	return out
}
