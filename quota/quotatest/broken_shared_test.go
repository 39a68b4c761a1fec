package quotatest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

func memoryJournal(testing.TB) func() sharedledger.Journal {
	j := &memremote.Journal{}
	return func() sharedledger.Journal { return j }
}

// A break of the account of several data directories is caught by the case that is named here.
func TestSuiteCatchesBrokenSharedLedgers(t *testing.T) {
	for _, b := range []struct {
		name, caught string
		broken       func(*memremote.Remote) sharedledger.Remote
	}{
		{"takes its first start for a loss", "L8 the first take", func(l *memremote.Remote) sharedledger.Remote { return &anxious{l} }},
		{"knows nobody who has left", "L8 no host waits for ended containers", func(l *memremote.Remote) sharedledger.Remote { return &faithful{l} }},
		{"syncs twice", "L6 a post to a ledger that is lost", func(l *memremote.Remote) sharedledger.Remote { return &twice{l} }},
		{"closes again what was opened", "L6 a drain that a person lifted", func(l *memremote.Remote) sharedledger.Remote { return &resentful{Remote: l} }},
	} {
		t.Run(b.name, func(t *testing.T) {
			backend := quotatest.SharedBackend{Journal: memoryJournal, Remote: func(_ testing.TB, c *quotatest.Clock) (func() sharedledger.Remote, func()) {
				l := &memremote.Remote{Now: c.Now}
				broken := b.broken(l)
				return func() sharedledger.Remote { return broken }, func() { l.Load(memremote.Image{}) }
			}}
			hit := false
			for _, c := range quotatest.SharedCases() {
				if !strings.HasPrefix(c.String(), b.caught) {
					continue
				}
				hit = true
				why := said(t, func(t testing.TB) { c.Check(t, backend) })
				if why == "" {
					t.Errorf("%s: %s passes", b.name, c)
				}
				t.Logf("%s: %s", c, why)
			}
			if !hit {
				t.Errorf("there is no case %q", b.caught)
			}
		})
	}
}

type anxious struct{ *memremote.Remote }

func (l *anxious) Renew(ctx context.Context, r sharedledger.Renewal) (sharedledger.Generation, error) {
	r.First = false
	return l.Remote.Renew(ctx, r)
}

type faithful struct{ *memremote.Remote }

func (l *faithful) Sync(ctx context.Context, b sharedledger.Batch) (time.Time, error) {
	if b.Host != nil {
		host := *b.Host
		host.Left = false
		b.Host = &host
	}
	return l.Remote.Sync(ctx, b)
}

// resentful drains a pool with every sync by the longest drain that any sync has named.
type resentful struct {
	*memremote.Remote

	longest quota.Drain
}

func (l *resentful) Sync(ctx context.Context, b sharedledger.Batch) (time.Time, error) {
	at, err := altered(ctx, l.Remote, b, func(u sharedledger.UsageSnapshot) sharedledger.UsageSnapshot {
		if u.Drain.Until.After(l.longest.Until) {
			l.longest = u.Drain
		}
		return u
	})
	if err == nil {
		err = l.Drain(ctx, b.Account, "units", l.longest)
	}
	return at, err
}

// Seen use binds: a remote that hides how much it has had is caught by the copies that come back.
func TestSuiteCatchesARemoteThatHidesARollBack(t *testing.T) {
	backend := func(broken func(*memremote.Remote) sharedledger.Remote) quotatest.StormBackend {
		return quotatest.StormBackend{Journal: memoryJournal, Remote: func(_ testing.TB, c *quotatest.Clock) (func() sharedledger.Remote, []quotatest.Loss) {
			l := &memremote.Remote{Now: c.Now}
			remote := broken(l)
			return func() sharedledger.Remote { return remote }, []quotatest.Loss{{Name: "older keys are restored", Prepare: func() func() {
				image := l.Image()
				return func() { l.Load(image) }
			}}}
		}}
	}
	restore := func(broken func(*memremote.Remote) sharedledger.Remote) string {
		return said(t, func(t testing.TB) { quotatest.Restore(t, backend(broken), 0, "another") })
	}
	if why := restore(func(l *memremote.Remote) sharedledger.Remote { return l }); why != "" {
		t.Errorf("a remote that is not broken: %s", why)
	}
	why := restore(func(l *memremote.Remote) sharedledger.Remote { return &hiding{Remote: l} })
	if !strings.Contains(why, "of 1000") {
		t.Errorf("L2: %q: want more sent than the limit", why)
	}
}

// hiding says of every answer that there were more entries than before.
type hiding struct {
	*memremote.Remote

	answers int64
}

func (l *hiding) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	d, err := l.Remote.TakeOnce(ctx, a, op)
	l.answers += 2
	for i := range d.Pools {
		d.Pools[i].Entries = l.answers
	}
	return d, err
}
