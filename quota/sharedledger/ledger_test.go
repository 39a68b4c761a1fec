package sharedledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// room is a shared ledger in memory, with the faults on the way to it.
type room struct {
	t      *testing.T
	now    time.Time
	memory *memremote.Remote
	lose   int // how many of the next operations are carried out and lose their replies
	refuse bool
	asked  int
}

func newRoom(t *testing.T) *room {
	r := &room{t: t, now: time.Date(2026, 6, 1, 19, 0, 0, 0, time.UTC)}
	r.memory = &memremote.Remote{Now: func() time.Time { return r.now }}
	return r
}

// line is one host's way to the ledger.
type line struct {
	*memremote.Remote

	room *room
}

var errLine = fmt.Errorf("%w: %w: connection reset", quota.ErrUnavailable, quota.ErrInDoubt)

func (l line) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	l.room.asked++
	if l.room.refuse {
		return quota.Decision{}, errSilent
	}
	d, err := l.Remote.TakeOnce(ctx, a, op)
	if l.room.lose > 0 {
		l.room.lose--
		return quota.Decision{}, errLine
	}
	return d, err
}

func (l line) State(ctx context.Context, account string, writers []string) (sharedledger.RemoteState, error) {
	l.room.asked++
	if l.room.refuse {
		return sharedledger.RemoteState{}, errSilent
	}
	return l.Remote.State(ctx, account, writers)
}

// open is a process on a data directory.
func (r *room) open(journal sharedledger.Journal, hosts int) *gate {
	d := &gate{t: r.t, Governor: &quota.Governor{Tariff: wholeTariff(), Account: "default"}}
	d.Now = func() time.Time { return r.now }
	shared, err := sharedledger.Open(d.Tariff, line{r.memory, r}, journal, hosts)
	if err != nil {
		r.t.Fatal(err)
	}
	shared.Host.Name, shared.Now, shared.Pause, shared.ShortWait = "here", d.Now, func(context.Context, time.Duration) {}, time.Minute
	r.t.Cleanup(func() { _ = shared.Close() })
	d.Ledger, d.EmergencyAccount = shared, shared
	return d
}

// used is the ledger's own count over 24 hours.
func (r *room) used(pool string) (sum int64) {
	r.t.Helper()
	spent, err := r.memory.Spent(r.t.Context(), "default", r.now.Add(-24*time.Hour), 0)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, s := range spent {
		if s.Pool == pool {
			sum += s.Amount
		}
	}
	return sum
}

func (r *room) wants(units int64) {
	r.t.Helper()
	if got := r.used("units"); got != units {
		r.t.Errorf("the ledger counts %d units, want %d", got, units)
	}
}

func TestLostRepliesAreAskedForAgain(t *testing.T) {
	for lost := 1; lost <= 3; lost++ {
		r := newRoom(t)
		d := r.open(&memremote.Journal{}, 1)
		d.take("search.list", quota.Manual)
		r.lose = lost
		if got := d.take("search.list", quota.Manual); !got.Allowed || got.Degraded || got.Pools[1].Windows[0].Used != 200 {
			t.Errorf("%d replies lost: %+v", lost, got)
		}
		r.wants(200)
		d.spend("units", 9745) // 5 of 9,950 are left
		for range 5 {
			r.lose = lost
			if got := d.take("videos.list", quota.Manual); !got.Allowed || got.Degraded {
				t.Errorf("%d replies lost, exactly enough left: %+v", lost, got)
			}
		}
		r.lose = lost
		if got := d.take("videos.list", quota.Manual); got.Allowed || got.Degraded {
			t.Errorf("%d replies lost, nothing left: %+v", lost, got)
		}
		r.wants(9950)
	}
}

func TestOperationInDoubtIsCountedOnceWhenItsCallGoesOn(t *testing.T) {
	for _, executed := range []bool{true, false} {
		r := newRoom(t)
		journal := &memremote.Journal{}
		d := r.open(journal, 1)
		d.take("videos.list", quota.Manual)
		if executed {
			r.lose = 100
		} else {
			r.refuse = true
		}
		if got := d.take("videos.list", quota.Manual); !got.Degraded {
			t.Fatalf("executed %t: %+v", executed, got)
		}
		if got := d.take("videos.list", quota.Manual); !got.Degraded {
			t.Fatalf("executed %t: %+v", executed, got)
		}
		r.lose, r.refuse, r.now = 0, false, r.now.Add(time.Minute)
		other := r.open(journal, 1) // another process
		if got := other.take("videos.list", quota.Manual); got.Degraded {
			t.Fatalf("executed %t: %+v", executed, got)
		}
		r.wants(4)
	}
}

// before does something before an emergency is spent.
type before struct {
	quota.EmergencyAccount

	do func()
}

func (b before) Spend(ctx context.Context, e quota.Emergency, budgets []quota.EmergencyBudget) (int64, error) {
	b.do()
	return b.EmergencyAccount.Spend(ctx, e, budgets)
}

// Another process of the data directory takes an apparently unused operation back before its call goes on without the
// ledger.
func TestOperationInDoubtIsCountedOnceWhenItWasTakenBack(t *testing.T) {
	r := newRoom(t)
	journal := &memremote.Journal{}
	d, other := r.open(journal, 1), r.open(journal, 1)
	d.take("videos.list", quota.Manual)
	other.take("videos.list", quota.Manual)
	d.EmergencyAccount = before{d.EmergencyAccount, func() {
		r.lose = 0
		_, _ = other.Report(t.Context())
		r.wants(2)
	}}
	r.lose = 100
	if got := d.take("videos.list", quota.Manual); !got.Degraded {
		t.Fatalf("%+v, want it degraded", got)
	}
	r.now = r.now.Add(time.Minute)
	d.take("videos.list", quota.Manual)
	r.wants(4)
}

func TestExpensiveCallInDoubtIsClosedAndTakenBack(t *testing.T) {
	r := newRoom(t)
	d := r.open(&memremote.Journal{}, 1)
	r.lose = 100
	if got, err := d.try("search.list", quota.Manual); !errors.Is(err, quota.ErrClosed) || got.Allowed {
		t.Errorf("%+v %v, want it refused with error %v", got, err, quota.ErrClosed)
	}
	r.wants(100)
	r.lose, r.now = 0, r.now.Add(time.Minute)
	d.take("videos.list", quota.Manual)
	r.wants(1) // an unused operation is taken back
}

func TestSilentLedgerIsLeftAlone(t *testing.T) {
	r := newRoom(t)
	journal := &memremote.Journal{}
	d := r.open(journal, 1)
	d.take("videos.list", quota.Manual)
	r.refuse = true
	d.take("videos.list", quota.Manual)
	asked := r.asked
	for range 20 { // in one process and in many
		d.take("videos.list", quota.Manual)
		r.open(journal, 1).take("videos.list", quota.Manual)
	}
	if r.asked != asked {
		t.Errorf("asked %d times more, want %v", r.asked-asked, asked)
	}
	for range 60 {
		r.now = r.now.Add(time.Second)
		if _, err := d.try("search.list", quota.Manual); !errors.Is(err, quota.ErrClosed) {
			t.Fatal(err)
		}
	}
	if r.asked == asked || r.asked > asked+15 {
		t.Errorf("asked %d times in a minute, want now and then", r.asked-asked)
	}
	r.refuse, r.now = false, r.now.Add(10*time.Second)
	if got := r.open(journal, 1).take("search.list", quota.Manual); got.Degraded {
		t.Errorf("the ledger is back: %+v", got)
	}
	r.wants(1 + 1 + 40 + 100)
}

func TestLostMemoryIsSyncedAgain(t *testing.T) {
	for _, c := range []struct {
		name string
		lose func(l *memremote.Remote, before memremote.Image)
	}{
		{"all of it", func(l *memremote.Remote, _ memremote.Image) { l.Load(memremote.Image{}) }},
		{"what came after a snapshot", func(l *memremote.Remote, before memremote.Image) { l.Load(before) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRoom(t)
			journal := &memremote.Journal{}
			d := r.open(journal, 1)
			var before memremote.Image
			for i := range 100 {
				if i == 60 {
					before = r.memory.Image()
				}
				d.take("videos.list", quota.Scheduled)
				r.now = r.now.Add(time.Minute)
			}
			c.lose(r.memory, before)
			d.take("videos.list", quota.Scheduled)
			r.wants(101)
			c.lose(r.memory, before)
			r.open(journal, 1).take("videos.list", quota.Scheduled) // another process notices as well
			r.wants(102)
			r.now = r.now.Add(22*time.Hour + 20*time.Minute + 31*time.Second) // the first half has left the window
			if got := r.open(journal, 1).take("videos.list", quota.Scheduled); got.Pools[0].Windows[0].Used != 103-1 {
				t.Errorf("%d used in 24 hours", got.Pools[0].Windows[0].Used)
			}
		})
	}
}

// Two hosts, all is lost, and one of them is away: its spends before the other's last snapshot count, expensive calls
// wait for it, and when it is back nothing counts twice.
func TestHostThatIsAwayCounts(t *testing.T) {
	r := newRoom(t)
	here, there := &memremote.Journal{}, &memremote.Journal{}
	a, b := r.open(here, 2), r.open(there, 2)
	for _, d := range []*gate{a, b, a} {
		_, _ = d.try("videos.list", quota.Manual) // the first of them settles nothing yet, and goes on without the ledger
		r.now = r.now.Add(time.Minute)
	}
	for range 30 {
		b.take("search.list", quota.Manual)
		r.now = r.now.Add(time.Minute)
	}
	a.take("videos.list", quota.Manual)
	r.memory.Load(memremote.Image{})
	r.now = r.now.Add(time.Minute)
	if got := a.take("videos.list", quota.Manual); !got.Degraded {
		t.Errorf("settling: %+v", got)
	}
	if _, err := a.try("search.list", quota.Manual); !errors.Is(err, quota.ErrClosed) || !strings.Contains(err.Error(), "1 of 2") {
		t.Errorf("settling: %v, want error %v and \"1 of 2\" in it", err, quota.ErrClosed)
	}
	r.now = r.now.Add(11 * time.Minute)
	if got := a.take("search.list", quota.Manual); got.Degraded || !got.Allowed {
		t.Errorf("settled: %+v", got)
	}
	r.wants(3000 + 3 + 2 + 100)
	if got := b.take("search.list", quota.Manual); got.Degraded {
		t.Errorf("back: %+v", got)
	}
	r.wants(3000 + 3 + 2 + 200)
	if n := r.used("search"); n != 32 {
		t.Errorf("%d searches, want 32", n)
	}
}

// An operation whose process died may have been spent: after a loss with the ledger, the next sync counts it.
func TestUnknownAnswerCountsAsSpentAfterALoss(t *testing.T) {
	r := newRoom(t)
	journal := &memremote.Journal{}
	d := r.open(journal, 1)
	d.take("videos.list", quota.Manual)
	d.take("search.list", quota.Manual) // the answer is not in the journal yet, and the process is gone
	r.memory.Load(memremote.Image{})
	r.now = r.now.Add(time.Minute)
	r.open(journal, 1).take("videos.list", quota.Manual)
	r.wants(102)
}

// writes counts the writes into a journal.
type writes struct {
	*memremote.Journal

	begun int
}

func (j *writes) Begin(ctx context.Context, row sharedledger.Row, n sharedledger.Notes) (int64, sharedledger.JournalState, error) {
	j.begun++
	return j.Journal.Begin(ctx, row, n)
}

// K9: an expected refusal leaves no row, and a cost that has room again is admitted at once.
func TestRefusalsWriteNoRow(t *testing.T) {
	r := newRoom(t)
	j := &writes{Journal: &memremote.Journal{}}
	d := r.open(j, 1)
	d.spend("units", 9949)
	d.take("videos.list", quota.Manual)
	begun := j.begun
	for range 20 {
		for _, process := range []*gate{d, r.open(j, 1)} {
			if got := process.take("videos.list", quota.Manual); got.Allowed || got.Degraded || got.RetryAfter < 24*time.Hour {
				t.Fatalf("a take without room: got %+v, want it refused for at least 24 h", got)
			}
		}
	}
	if j.begun != begun {
		t.Errorf("40 refusals wrote %d rows, want 0", j.begun-begun)
	}
	r.now = r.now.Add(24*time.Hour + grace + time.Second)
	if got := d.take("videos.list", quota.Manual); !got.Allowed || j.begun != begun+1 {
		t.Errorf("a take with room again: got %+v and %d rows, want it allowed with 1 row", got, j.begun-begun)
	}
}
