package sharedledger_test

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// moves is a data directory whose ledger changes: its own file, or one of several remotes. arrived is the provider's
// own count.
type moves struct {
	t       *testing.T
	now     time.Time
	path    string
	remotes map[string]*memremote.Remote
	arrived int64
	pace    time.Duration // between two takes; 0: a second
	pool    quota.Pool    // with the names that it has and had
	hosts   int           // as configured; 0: one
}

func newMoves(t *testing.T) *moves {
	m := &moves{t: t, now: time.Date(2026, 6, 1, 19, 0, 0, 0, time.UTC), path: filepath.Join(t.TempDir(), "quota.db"), remotes: map[string]*memremote.Remote{}, pool: quota.Pool{Name: "units"}}
	for _, name := range []string{"redis", "redis/1", "postgres"} {
		m.remotes[name] = &memremote.Remote{Now: func() time.Time { return m.now }}
	}
	return m
}

// with runs one process on a ledger, in a data directory's file.
func (m *moves) with(ledger, path string, do func(*quota.Governor)) {
	m.t.Helper()
	m.now = m.now.Add(10 * time.Second)
	now := func() time.Time { return m.now }
	local, err := sqliteledger.Open(m.t.Context(), path)
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = local.Close() }()
	local.Now = now
	tariff := wholeTariff()
	m.pool.Windows = []quota.Window{{Name: "24h", Length: 24 * time.Hour, Limit: 100}, {Name: "day", Limit: 100}}
	tariff.Pools = []quota.Pool{m.pool}
	tariff.Methods = map[string]quota.Cost{"videos.list": {m.pool.Name: 1}}
	tariff.Ceilings[quota.Manual] = 1_000_000
	g := &quota.Governor{Ledger: local, EmergencyAccount: local, Tariff: tariff, Account: "default", Now: now}
	if remote := m.remotes[ledger]; remote != nil {
		shared, err := sharedledger.Open(tariff, remote, local, max(m.hosts, 1))
		if err != nil {
			m.t.Fatal(err)
		}
		shared.Now = now
		defer func() { _ = shared.Close() }()
		g.Ledger, g.EmergencyAccount = shared, shared
	}
	do(g)
}

// spend takes the given number of units, or as many as are admitted.
func (m *moves) spend(g *quota.Governor, units int) {
	m.t.Helper()
	for range units {
		m.now = m.now.Add(cmp.Or(m.pace, time.Second))
		d, err := g.Take(m.t.Context(), quota.Request{Method: "videos.list", Purpose: quota.Manual})
		if err != nil {
			m.t.Fatal(err)
		}
		if !d.Allowed {
			return
		}
		m.arrived++
	}
}

// counts fails unless the ledger counts exactly the calls that arrived.
func (m *moves) counts(g *quota.Governor) {
	m.t.Helper()
	r, err := g.Report(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	for _, w := range r.Pools[0].Windows {
		if w.Used != m.arrived || m.arrived > 100 {
			m.t.Errorf("window %s: the ledger counts %d, %d of 100 arrived", w.Window.Name, w.Used, m.arrived)
		}
	}
}

// Every ordered pair of ledgers, and back again: each ledger that decides counts the arrived calls, once.
func TestAMoveBetweenLedgersIsNoEvent(t *testing.T) {
	for _, a := range ledgers {
		for _, b := range ledgers {
			moveThrough(t, a, b, a, b)
		}
	}
}

// Every ordered triple of ledgers, and back again.
func TestLongMovesThroughThreeLedgersAreNoEvent(t *testing.T) {
	for _, a := range ledgers {
		for _, b := range ledgers {
			for _, c := range ledgers {
				moveThrough(t, a, b, c, a, b)
			}
		}
	}
}

// A pool that is renamed, renamed back and renamed again is one pool, with any ledgers deciding meanwhile.
func TestARenamedPoolIsCountedUnderItsFirstName(t *testing.T) {
	names := []quota.Pool{{Name: "units"}, {Name: "points", Was: []string{"units"}}, {Name: "units"}, {Name: "credits", Was: []string{"units", "points"}}, {Name: "units", Was: []string{"units", "credits"}}}
	for _, a := range ledgers {
		for _, b := range ledgers {
			t.Run(strings.ReplaceAll(a+","+b, "/", "#"), func(t *testing.T) {
				m := newMoves(t)
				for i, pool := range names {
					m.pool = pool
					m.with([]string{a, b}[i/2%2], m.path, func(g *quota.Governor) {
						m.counts(g)
						m.spend(g, 25)
						m.counts(g)
						d, err := g.Take(t.Context(), quota.Request{Method: "videos.list", Purpose: quota.Manual})
						if err == nil && d.Allowed {
							err = g.Refund(t.Context(), d)
						}
						if err != nil || d.Pools[0].Pool != pool.Name || d.Refusal != nil && d.Refusal.Pool != pool.Name {
							t.Errorf("%+v, %v, want pool %s", d, err, pool.Name)
						}
						m.counts(g)
						spent, err := g.Spent(t.Context(), "default", m.now.Add(-time.Hour), 0)
						if err != nil || len(spent) != 1 || spent[0].Pool != pool.Name || spent[0].Amount != m.arrived {
							t.Errorf("spent: %+v, %v, want 1, %v and %v", spent, err, pool.Name, m.arrived)
						}
						if err := g.DrainByHand(t.Context(), pool.Name, false); err != nil {
							t.Fatal(err)
						}
					})
					m.pool = names[(i+1)%len(names)]
					m.with([]string{a, b}[i/2%2], m.path, func(g *quota.Governor) {
						d, err := g.Take(t.Context(), quota.Request{Method: "videos.list", Purpose: quota.Manual})
						if err != nil || d.Allowed {
							t.Errorf("a pool that was closed under another name is open: %+v, %v", d, err)
						}
						if err := g.DrainByHand(t.Context(), m.pool.Name, true); err != nil {
							t.Fatal(err)
						}
					})
				}
				if m.arrived != 100 {
					t.Errorf("%d of 100 were admitted, want 100", m.arrived)
				}
			})
		}
	}
}

var ledgers = []string{"sqlite", "redis", "redis/1", "postgres"}

// moveThrough spends on one ledger after the other, until all is spent.
func moveThrough(t *testing.T, order ...string) {
	t.Run(strings.ReplaceAll(strings.Join(order[:len(order)-2], ","), "/", "#"), func(t *testing.T) {
		m := newMoves(t)
		for i, ledger := range order {
			spend := []int{20, 30, 15, 10}[i%4]
			if i == len(order)-1 {
				spend = 100
			}
			m.with(ledger, m.path, func(g *quota.Governor) {
				m.counts(g)
				m.spend(g, spend)
				m.counts(g)
			})
		}
		if m.arrived != 100 {
			t.Errorf("%d of 100 were admitted, want 100", m.arrived)
		}
	})
}

// Posts and emergencies move as takes do.
func TestPostsAndEmergenciesMoveToo(t *testing.T) {
	for _, order := range [][]string{{"sqlite", "redis"}, {"redis", "sqlite"}, {"redis", "sqlite", "redis"}, {"sqlite", "postgres", "sqlite", "redis"}} {
		m := newMoves(t)
		for _, ledger := range order {
			m.with(ledger, m.path, func(g *quota.Governor) {
				m.spend(g, 3)
				who := quota.Who{Purpose: quota.Manual, Method: protocol.PostMethod}
				if err := g.Post(t.Context(), who, quota.Cost{"units": 5}, m.now); err != nil {
					t.Fatal(err)
				}
				e := quota.Emergency{Account: "default", At: m.now, Who: quota.Who{Purpose: quota.Scheduled, Method: "videos.list"}, Amounts: quota.Cost{"units": 2}}
				row, err := g.EmergencyAccount.Spend(t.Context(), e, []quota.EmergencyBudget{{Pool: "units", Amount: 100}})
				if err != nil || row == 0 {
					t.Fatal(row, err)
				}
				m.arrived += 7
			})
		}
		for _, ledger := range []string{"sqlite", "redis", "postgres"} {
			m.with(ledger, m.path, m.counts)
		}
	}
}

// Other hosts' calls were seen in the remote only; a move to the own file raises to them.
func TestAMoveHomeCountsOtherHostsSpends(t *testing.T) {
	m := newMoves(t)
	m.with("redis", filepath.Join(t.TempDir(), "quota.db"), func(g *quota.Governor) { m.spend(g, 60) })
	m.with("redis", m.path, func(g *quota.Governor) { m.spend(g, 10) })
	for _, ledger := range []string{"sqlite", "redis", "sqlite", "postgres", "redis"} {
		m.with(ledger, m.path, func(g *quota.Governor) { m.counts(g); m.spend(g, 4); m.counts(g) })
	}
}

// Neither ledger gives back an operation that both have.
func TestACarriedTakeIsNotRefundable(t *testing.T) {
	m := newMoves(t)
	var d quota.Decision
	m.with("sqlite", m.path, func(g *quota.Governor) {
		var err error
		if d, err = g.Take(t.Context(), quota.Request{Method: "videos.list", Purpose: quota.Manual}); err != nil {
			t.Fatal(err)
		}
	})
	m.with("redis", m.path, func(g *quota.Governor) { m.spend(g, 1) })
	m.with("sqlite", m.path, func(g *quota.Governor) {
		if err := g.Refund(t.Context(), d); !errors.Is(err, quota.ErrNotRefundable) {
			t.Errorf("refunded: %v, want error %v", err, quota.ErrNotRefundable)
		}
		m.arrived++
		m.counts(g)
	})
}

// Entries posted into the past have larger numbers than later ones: none is left behind by a move.
func TestPostsIntoThePastMoveOnce(t *testing.T) {
	m := newMoves(t)
	for _, ledger := range slices.Repeat([]string{"sqlite", "redis"}, 3) {
		m.with(ledger, m.path, func(g *quota.Governor) {
			m.spend(g, 2)
			if err := g.Post(t.Context(), quota.Who{Purpose: quota.Manual, Method: protocol.PostMethod}, quota.Cost{"units": 3}, m.now.Add(-time.Minute)); err != nil {
				t.Fatal(err)
			}
			m.arrived += 3
			m.spend(g, 2)
		})
	}
	m.with("sqlite", m.path, m.counts)
	m.with("redis", m.path, m.counts)
}

// A post into the past is not among the other hosts' calls that the server had shown before.
func TestAPostBehindTheLastLookAddsToOtherHostsCalls(t *testing.T) {
	m := newMoves(t)
	m.with("redis", filepath.Join(t.TempDir(), "quota.db"), func(g *quota.Governor) { m.spend(g, 20) })
	m.with("redis", m.path, func(g *quota.Governor) {
		m.spend(g, 1)
		m.now = m.now.Add(time.Second)
		if err := g.Post(t.Context(), quota.Who{Purpose: quota.Manual, Method: protocol.PostMethod}, quota.Cost{"units": 20}, m.now.Add(-time.Minute)); err != nil {
			t.Fatal(err)
		}
		m.arrived += 20
	})
	for _, ledger := range []string{"sqlite", "postgres", "redis", "sqlite"} {
		m.with(ledger, m.path, m.counts)
	}
}

// A closed pool stays closed under the next ledger, by any cause of closing; one that was opened in the
// own file stays open there.
func TestDrainsMoveToo(t *testing.T) {
	for _, by := range []quota.DrainedBy{quota.ByProvider, quota.ByHand, quota.ByUnknown} {
		for _, first := range []string{"sqlite", "redis"} {
			m := newMoves(t)
			until := m.now.Add(5 * time.Hour)
			m.with(first, m.path, func(g *quota.Governor) {
				m.spend(g, 3)
				d := quota.Drain{Until: until, By: by, Used: 3}
				if by != quota.ByProvider {
					d.At = m.now
				}
				if err := g.Ledger.Drain(t.Context(), "default", "units", d); err != nil {
					t.Fatal(err)
				}
			})
			for _, ledger := range []string{"redis", "sqlite", "postgres", "redis/1", "sqlite"} {
				m.with(ledger, m.path, func(g *quota.Governor) {
					m.counts(g)
					d, err := g.Take(t.Context(), quota.Request{Method: "videos.list", Purpose: quota.Manual})
					if err != nil || d.Allowed || d.Pools[0].Drain.By != by || !d.Pools[0].Drain.Until.Equal(until) {
						t.Errorf("closed by %d on %s, then on %s: %+v %v", by, first, ledger, d, err)
					}
				})
			}
			for range 2 {
				m.with("sqlite", m.path, func(g *quota.Governor) {
					if err := errors.Join(g.DrainByHand(t.Context(), "units", true), g.OpenUnknown(t.Context(), "units")); err != nil {
						t.Fatal(err)
					}
					m.spend(g, 1)
					m.counts(g)
				})
			}
			if m.arrived != 5 {
				t.Errorf("%d arrived, want 5: a pool that was opened is closed again", m.arrived)
			}
		}
	}
}

// A pool that was closed in the own file, and opened on a server, stays open in both.
func TestAPoolThatIsOpenedOnAServerStaysOpen(t *testing.T) {
	m := newMoves(t)
	drain := func(lift bool) func(*quota.Governor) {
		return func(g *quota.Governor) {
			if err := g.DrainByHand(t.Context(), "units", lift); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.with("sqlite", m.path, drain(false))
	m.with("redis", m.path, drain(true))
	for _, ledger := range []string{"redis", "sqlite", "redis"} {
		m.with(ledger, m.path, func(g *quota.Governor) { m.spend(g, 1); m.counts(g) })
	}
	if m.arrived != 3 {
		t.Errorf("%d arrived, want 3", m.arrived)
	}
}

// A closing that a person entered while the server was away is kept, although another process has seen the pool later, and
// open.
func TestAClosingWhileTheServerIsAwayIsKept(t *testing.T) {
	now, path := time.Date(2026, 6, 1, 19, 0, 0, 0, time.UTC), filepath.Join(t.TempDir(), "quota.db")
	clock := func() time.Time { return now }
	server := &walkRemote{Remote: &memremote.Remote{Now: clock}}
	process := func() *gate {
		local, err := sqliteledger.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		local.Now = clock
		shared, err := sharedledger.Open(wholeTariff(), server, local, 1)
		if err != nil {
			t.Fatal(err)
		}
		shared.Now, shared.Pause = clock, func(context.Context, time.Duration) {}
		t.Cleanup(func() { _ = shared.Close(); _ = local.Close() })
		return &gate{&quota.Governor{Ledger: shared, EmergencyAccount: shared, Tariff: wholeTariff(), Account: "default", Now: clock}, t}
	}
	running, person := process(), process()
	running.take("videos.list", quota.Scheduled)
	server.away = true
	now = now.Add(time.Minute)
	if err := person.DrainByHand(t.Context(), "units", false); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		now = now.Add(time.Minute)
		if d, err := running.try("videos.list", quota.Scheduled); err == nil && d.Allowed {
			t.Errorf("a call goes on without the server from a pool that was closed: %+v", d)
		}
	}
	server.away = false
	now = now.Add(time.Hour) // no breaker is open
	for _, g := range []*gate{running, person, process(), running} {
		if d := g.take("videos.list", quota.Scheduled); d.Allowed || d.Pools[0].Drain.By != quota.ByHand {
			t.Errorf("the pool is open: %+v", d)
		}
		now = now.Add(time.Second)
	}
	if err := running.DrainByHand(t.Context(), "units", true); err != nil {
		t.Fatal(err)
	}
	for _, g := range []*gate{running, person, process()} {
		if d := g.take("videos.list", quota.Scheduled); !d.Allowed {
			t.Errorf("a pool that was opened is closed: %+v", d.Pools)
		}
	}
}

// unknownStays fails unless the pool is closed there because its use is unknown, also after an attempt to open it as
// if a person had closed it.
func (m *moves) unknownStays(ledger, path string) {
	m.t.Helper()
	for _, tries := range []string{"before", "after"} {
		m.with(ledger, path, func(g *quota.Governor) {
			r, err := g.Report(m.t.Context())
			if err != nil || r.Pools[0].Unknown.IsZero() {
				m.t.Errorf("on %s, %s somebody opens it: %+v %v, want a pool whose use is unknown", ledger, tries, r.Pools, err)
			}
			if m.spend(g, 1); m.arrived > 0 {
				m.t.Fatalf("on %s, %s somebody opens it: %d arrived where use is unknown, want none", ledger, tries, m.arrived)
			}
			if err := g.DrainByHand(m.t.Context(), "units", true); err != nil {
				m.t.Fatal(err)
			}
		})
	}
}

func (m *moves) closeUnknown(g *quota.Governor) {
	if err := g.CloseUnknown(m.t.Context(), "units"); err != nil {
		m.t.Fatal(err)
	}
}

// That a pool's use is unknown is neither replaced nor forgotten: at any time, after any word of a person, another
// host or an older copy of the server.
func TestAPoolWhoseUseIsUnknownStaysClosed(t *testing.T) {
	closeByHand := func(g *quota.Governor) {
		if err := g.DrainByHand(t.Context(), "units", false); err != nil {
			t.Fatal(err)
		}
	}
	var other string // another host's file
	for name, walk := range map[string]func(*moves){
		"a person closes it elsewhere, for longer": func(m *moves) {
			m.with("sqlite", m.path, m.closeUnknown)
			m.now = m.now.Add(13 * time.Hour) // the provider's day has turned
			m.with("redis", other, closeByHand)
		},
		"a person closes and opens it on another server": func(m *moves) {
			m.with("sqlite", m.path, m.closeUnknown)
			m.with("postgres", m.path, closeByHand)
			m.with("postgres", m.path, func(g *quota.Governor) {
				if err := g.DrainByHand(t.Context(), "units", true); err != nil {
					t.Fatal(err)
				}
			})
		},
		"an older copy of the server lacks only that": func(m *moves) {
			m.with("redis", other, func(g *quota.Governor) { m.spend(g, 1); m.arrived = 0 })
			m.with("redis", m.path, func(g *quota.Governor) { _, _ = g.Report(t.Context()) })
			older := m.remotes["redis"].Image()
			m.with("redis", m.path, m.closeUnknown)
			m.remotes["redis"].Load(older)
		},
		"a host comes from another server after a loss": func(m *moves) {
			m.with("redis", m.path, func(g *quota.Governor) { m.spend(g, 1); m.arrived = 0; m.closeUnknown(g) })
			m.with("redis", m.path, func(g *quota.Governor) { _, _ = g.Report(t.Context()) })
			m.remotes["redis"].Load(memremote.Image{})
			m.with("redis", m.path, func(g *quota.Governor) { _, _ = g.Report(t.Context()) })
			m.with("postgres", other, func(g *quota.Governor) { m.spend(g, 1); m.arrived = 0 })
			m.with("redis", other, func(g *quota.Governor) { _, _ = g.Report(t.Context()) })
		},
		"a host comes from another server before": func(m *moves) {
			m.with("redis", m.path, func(g *quota.Governor) { m.spend(g, 1); m.arrived = 0; m.closeUnknown(g) })
			m.remotes["redis"].Load(memremote.Image{})
			m.with("postgres", other, func(g *quota.Governor) { m.spend(g, 1); m.arrived = 0 })
			m.with("redis", other, func(g *quota.Governor) { m.spend(g, 1); m.arrived = 0 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMoves(t)
			other = filepath.Join(t.TempDir(), "quota.db")
			walk(m)
			m.unknownStays("redis", m.path)
			m.unknownStays("sqlite", m.path)
		})
	}
}

// Once a person has posted the provider's count, no ledger of the account closes the pool again for the use that was
// unknown before.
func TestAPostOpensAPoolOfUnknownUseOnEveryLedger(t *testing.T) {
	for _, posts := range ledgers {
		m := newMoves(t)
		m.with("sqlite", m.path, m.closeUnknown)
		for _, ledger := range ledgers {
			m.with(ledger, m.path, func(g *quota.Governor) { _, _ = g.Report(t.Context()) })
		}
		m.with(posts, m.path, func(g *quota.Governor) {
			if _, err := g.PostTotal(t.Context(), quota.Who{Purpose: quota.Manual, Method: protocol.PostMethod}, "units", 7); err != nil {
				t.Fatal(err)
			}
			m.arrived = 7
		})
		for _, ledger := range append(ledgers, ledgers...) {
			m.with(ledger, m.path, func(g *quota.Governor) { m.spend(g, 1); m.counts(g) })
		}
		if m.arrived != 15 {
			t.Errorf("posted on %s: %d arrived, want 15", posts, m.arrived)
		}
	}
}

// A process goes on with a server while people spend on the file, as where only the unit of the service names the server.
func TestTwoLedgersAtOnceSpendOneLimit(t *testing.T) {
	for times := range 4 {
		m := newMoves(t)
		m.with("redis", m.path, func(running *quota.Governor) {
			m.pace = time.Millisecond
			for range times {
				m.spend(running, 2)
				m.with("sqlite", m.path, func(g *quota.Governor) { m.spend(g, 15) })
			}
			m.spend(running, 100)
		})
		if m.arrived != 100 {
			t.Errorf("%d times: %d of 100 arrived, want 100", times, m.arrived)
		}
	}
}

// A person posts earlier calls on quota.db while a process spends on another ledger: that counts them at its next call,
// also if quota.db has later entries.
func TestAPostIntoThePastReachesARunningProcessAtOnce(t *testing.T) {
	m := newMoves(t)
	who := quota.Who{Purpose: quota.Manual, Method: protocol.PostMethod}
	m.with("sqlite", m.path, func(g *quota.Governor) { m.spend(g, 1) })
	m.with("redis", m.path, func(running *quota.Governor) {
		m.pace = time.Millisecond
		m.spend(running, 2)
		m.with("sqlite", m.path, func(g *quota.Governor) {
			if err := g.Post(t.Context(), who, quota.Cost{"units": 20}, m.now.Add(-time.Minute)); err != nil {
				t.Fatal(err)
			}
			m.arrived += 20
		})
		m.spend(running, 100)
	})
	if m.arrived != 100 {
		t.Errorf("%d of 100 arrived, want 100", m.arrived)
	}
	m.with("sqlite", m.path, m.counts)
}

// The number of hosts is changed in the config between two processes: each counts all calls, on a server and in the file.
func TestAChangedNumberOfHostsForgetsNoCall(t *testing.T) {
	m := newMoves(t)
	for _, hosts := range []int{1, 3, 2, 1, 2} {
		for _, ledger := range []string{"redis", "sqlite"} {
			m.hosts = hosts
			m.with(ledger, m.path, func(g *quota.Governor) {
				m.spend(g, 12)
				m.counts(g)
			})
		}
	}
	if m.arrived != 100 {
		t.Errorf("%d of 100 arrived, want 100", m.arrived)
	}
}
