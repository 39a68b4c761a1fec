package quotatest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Every way to break a numbered ledger that we can think of is caught by the case that is named here.
func TestSuiteCatchesBrokenRemotes(t *testing.T) {
	for _, b := range []struct {
		name, caught string
		broken       func(*memremote.Remote) sharedledger.Remote
	}{
		{"charges again when it is asked again", "G1 a number asked again", func(l *memremote.Remote) sharedledger.Remote { return &incrementing{l} }},
		{"remembers the last answer of all writers, not of each", "G1 an answer outlives", func(l *memremote.Remote) sharedledger.Remote { return &oneAnswer{Remote: l} }},
		{"looks at no nonce", "G1 a number under another nonce", func(l *memremote.Remote) sharedledger.Remote { return &nonceless{l} }},
		{"keeps refusals", "G1 a refusal is not stored", func(l *memremote.Remote) sharedledger.Remote {
			return &stubborn{Remote: l, refused: map[string]quota.Decision{}}
		}},
		{"takes lost accounts for empty", "L3 an account with a missing part", func(l *memremote.Remote) sharedledger.Remote { return &hollow{l} }},
		{"does not miss what it forgot", "G5 a writer's number behind", func(l *memremote.Remote) sharedledger.Remote { return &credulous{l} }},
		{"looks at no generation", "G5 an ended generation", func(l *memremote.Remote) sharedledger.Remote { return &ageless{l} }},
		{"ends a generation twice", "G5 a generation ends once", func(l *memremote.Remote) sharedledger.Remote { return &restless{l} }},
		{"syncs twice", "G5 rows are synced once", func(l *memremote.Remote) sharedledger.Remote { return &twice{l} }},
		{"syncs at the sync's time", "G5 rows are synced once", func(l *memremote.Remote) sharedledger.Remote { return &now{l} }},
		{"carries out synced operations", "G8 an operation that was synced", func(l *memremote.Remote) sharedledger.Remote { return &deaf{l} }},
		{"raises at the sync's time", "G5 a snapshot raises its pool", func(l *memremote.Remote) sharedledger.Remote { return &late{l} }},
		{"adds a snapshot instead of raising to it", "G5 a snapshot that saw less", func(l *memremote.Remote) sharedledger.Remote { return &adding{l} }},
		{"raises to every snapshot again", "G5 a snapshot no younger", func(l *memremote.Remote) sharedledger.Remote { return &eager{l} }},
		{"nets nothing", "G5 a returning host", func(l *memremote.Remote) sharedledger.Remote { return &seeing{l, sharedledger.RowAsked} }},
		{"nets unseen rows", "G5 an amount that no snapshot can have counted", func(l *memremote.Remote) sharedledger.Remote { return &seeing{l, sharedledger.RowCharged} }},
	} {
		t.Run(b.name, func(t *testing.T) {
			backend := quotatest.Backend{Name: b.name, Open: func(_ testing.TB, c *quotatest.Clock) quotatest.Store {
				l := &memremote.Remote{Now: c.Now}
				return quotatest.Store{Ledger: b.broken(l), Evict: func(testing.TB) { l.Load(memremote.Image{}) },
					EvictPart: func(_ testing.TB, account string, part quotatest.Part) {
						l.Load(l.Image().WithoutPart(account, string(part)))
					}}
			}}
			var also []string
			hit := false
			for _, c := range quotatest.RemoteCases() {
				switch why := failure(t, c, backend); {
				case strings.HasPrefix(c.String(), b.caught):
					hit = true
					if why == "" {
						t.Errorf("%s: %s passes", b.name, c)
					}
					t.Logf("%s: %s", c, why)
				case why != "":
					also = append(also, c.String())
				}
			}
			if !hit {
				t.Errorf("there is no case %q", b.caught)
			}
			t.Logf("and by %q", also)
		})
	}
}

type incrementing struct{ *memremote.Remote }

func (l *incrementing) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	op.Writer, op.Written = rand.Text(), 0
	return l.Remote.TakeOnce(ctx, a, op)
}

type oneAnswer struct {
	*memremote.Remote

	mu   sync.Mutex
	last sharedledger.Operation
}

func (l *oneAnswer) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if op.Writer != l.last.Writer && op.Written == 0 {
		l.last = op
		op.Writer = rand.Text()
	}
	return l.Remote.TakeOnce(ctx, a, op)
}

type nonceless struct{ *memremote.Remote }

func (l *nonceless) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	op.Nonce = 1
	return l.Remote.TakeOnce(ctx, a, op)
}

type stubborn struct {
	*memremote.Remote

	mu      sync.Mutex
	refused map[string]quota.Decision
}

func (l *stubborn) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d, ok := l.refused[op.Writer]; ok {
		return d, nil
	}
	d, err := l.Remote.TakeOnce(ctx, a, op)
	if err == nil && !d.Allowed {
		l.refused[op.Writer] = d
	}
	return d, err
}

type credulous struct{ *memremote.Remote }

func (l *credulous) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	op.Written = 0
	return l.Remote.TakeOnce(ctx, a, op)
}

type hollow struct{ *memremote.Remote }

func (l *hollow) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	d, err := l.Remote.TakeOnce(ctx, a, op)
	if errors.Is(err, sharedledger.ErrLost) {
		return (&memremote.Remote{Now: l.Now}).Take(ctx, a)
	}
	return d, err
}

type ageless struct{ *memremote.Remote }

func (l *ageless) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	if s, err := l.State(ctx, a.Account, nil); err == nil && s.Generation != 0 {
		op.Generation = s.Generation
	}
	return l.Remote.TakeOnce(ctx, a, op)
}

type restless struct{ *memremote.Remote }

func (l *restless) Renew(ctx context.Context, r sharedledger.Renewal) (sharedledger.Generation, error) {
	if s, err := l.State(ctx, r.Account, nil); err == nil {
		r.Was = s.Generation
	}
	return l.Remote.Renew(ctx, r)
}

type twice struct{ *memremote.Remote }

func (l *twice) Sync(ctx context.Context, d sharedledger.Batch) (time.Time, error) {
	for _, r := range d.Rows {
		r.Writer = rand.Text()
		if at, err := l.Remote.Sync(ctx, sharedledger.Batch{Account: d.Account, Generation: d.Generation, Horizon: d.Horizon, Rows: []sharedledger.Row{r}}); err != nil {
			return at, err
		}
	}
	return l.Remote.Sync(ctx, d)
}

type now struct{ *memremote.Remote }

func (l *now) Sync(ctx context.Context, d sharedledger.Batch) (time.Time, error) {
	rows := d.Rows
	d.Rows = nil
	for _, r := range rows {
		r.At = l.Now()
		d.Rows = append(d.Rows, r)
	}
	return l.Remote.Sync(ctx, d)
}

type deaf struct{ *memremote.Remote }

func (l *deaf) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	d, err := l.Remote.TakeOnce(ctx, a, op)
	if errors.Is(err, sharedledger.ErrSynced) {
		op.Number++
		return l.Remote.TakeOnce(ctx, a, op)
	}
	return d, err
}

// altered syncs other snapshots than it was given.
func altered(ctx context.Context, l *memremote.Remote, d sharedledger.Batch, change func(sharedledger.UsageSnapshot) sharedledger.UsageSnapshot) (time.Time, error) {
	snapshots := d.Snapshots
	d.Snapshots = nil
	for _, one := range snapshots {
		d.Snapshots = append(d.Snapshots, change(one))
	}
	return l.Sync(ctx, d)
}

type late struct{ *memremote.Remote }

func (l *late) Sync(ctx context.Context, d sharedledger.Batch) (time.Time, error) {
	return altered(ctx, l.Remote, d, func(o sharedledger.UsageSnapshot) sharedledger.UsageSnapshot { o.At = l.Now(); return o })
}

type adding struct{ *memremote.Remote }

func (l *adding) Sync(ctx context.Context, d sharedledger.Batch) (time.Time, error) {
	return altered(ctx, l.Remote, d, func(o sharedledger.UsageSnapshot) sharedledger.UsageSnapshot {
		var windows []sharedledger.WindowUsage
		for _, w := range o.Windows {
			w.Used += 3
			windows = append(windows, w)
		}
		o.Windows = windows
		return o
	})
}

type eager struct{ *memremote.Remote }

func (l *eager) Sync(ctx context.Context, d sharedledger.Batch) (time.Time, error) {
	return altered(ctx, l.Remote, d, func(o sharedledger.UsageSnapshot) sharedledger.UsageSnapshot {
		o.Generation = sharedledger.Generation(time.Now().UnixNano())
		return o
	})
}

type seeing struct {
	*memremote.Remote

	state sharedledger.RowState
}

func (l *seeing) Sync(ctx context.Context, d sharedledger.Batch) (time.Time, error) {
	rows := d.Rows
	d.Rows = nil
	for _, r := range rows {
		r.State = l.state
		d.Rows = append(d.Rows, r)
	}
	return l.Remote.Sync(ctx, d)
}
