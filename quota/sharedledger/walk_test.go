package sharedledger_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// A data directory spends on one ledger after the other, servers are lost, go away and come back, its file is lost and
// rebuilt, people post, close and open, rename the pool, processes are killed, and days pass: arrivals never exceed
// the limit, and no ledger counts less than arrived, or more than arrived and was in doubt. Of calls whose rows are lost
// with a file, snapshots show the provider's day, and no time: they may count as if made at the end of that day.
func TestNoWalkThroughLedgersAndLossesSpendsTwice(t *testing.T) { walks(t, 3, 40) }

// TestLongNoWalkThroughLedgersAndLossesSpendsTwice has as many walks of 300 steps as SOAK says, of some ten seconds each:
//
//	SOAK=200 go test -count=1 -timeout 1h ./quota/sharedledger -run '^TestLongNoWalk'
func TestLongNoWalkThroughLedgersAndLossesSpendsTwice(t *testing.T) {
	if n, _ := strconv.Atoi(os.Getenv("SOAK")); n > 0 {
		walks(t, n, 300)
		return
	}
	walks(t, 10, 60)
}

func walks(t *testing.T, checks, steps int) {
	t.Helper()
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.checks": fmt.Sprint(checks), "rapid.shrinktime": "20s"} {
		was := flag.Lookup(name).Value.String()
		_ = flag.Set(name, value)
		t.Cleanup(func() { _ = flag.Set(name, was) })
	}
	rapid.Check(t, func(r *rapid.T) {
		w := newWalk(r, t)
		actions := map[string]func(*rapid.T){
			"":        func(*rapid.T) {}, // a step that shrinking leaves out
			"spend":   func(r *rapid.T) { w.spend(rapid.SampledFrom([]int{1, 40, 7, 100}).Draw(r, "units")) },
			"killed":  func(*rapid.T) { w.killed() },
			"switch":  func(r *rapid.T) { w.ledger = rapid.SampledFrom(ledgers).Draw(r, "to") },
			"away":    func(r *rapid.T) { w.remotes[rapid.SampledFrom(ledgers[1:]).Draw(r, "server")].away = true },
			"back":    func(*rapid.T) { w.allBack() },
			"lose":    func(r *rapid.T) { w.remotes[rapid.SampledFrom(ledgers[1:]).Draw(r, "server")].Load(memremote.Image{}) },
			"keep":    func(r *rapid.T) { w.kept(rapid.SampledFrom(ledgers[1:]).Draw(r, "server")) },
			"restore": func(r *rapid.T) { w.restored(rapid.SampledFrom(ledgers[1:]).Draw(r, "server")) },
			"rebuild": func(r *rapid.T) { w.rebuild(rapid.Bool().Draw(r, "whole")) },
			"post": func(r *rapid.T) {
				w.post(rapid.Int64Range(1, 5).Draw(r, "units"), rapid.SampledFrom([]time.Duration{0, 30 * time.Minute}).Draw(r, "ago"))
			},
			"rename": func(*rapid.T) { w.names = append(w.names, fmt.Sprintf("units%d", len(w.names))) },
			"close":  func(*rapid.T) { w.drains(false) },
			"lift":   func(*rapid.T) { w.drains(true) },
			"clock": func(r *rapid.T) {
				w.now = w.now.Add(rapid.SampledFrom([]time.Duration{time.Minute, time.Hour, 9 * time.Hour, 25 * time.Hour}).Draw(r, "ahead"))
			},
		}
		// rapid prefers the first of them.
		names := rapid.SampledFrom(slices.Concat([]string{"", "spend", "switch", "clock"}, slices.Sorted(maps.Keys(actions))))
		for range steps { // rapid's Repeat would make that many on average, and often a few
			actions[names.Draw(r, "action")](r)
			w.judge()
		}
		w.allBack()
		w.judge()
		r.Logf("%d calls arrived, %d were refused, %d in doubt", len(w.arrived), w.refused, w.doubt)
	})
}

const walkLimit = 100

// walk is one data directory. arrived is the provider's own count.
type walk struct {
	r       *rapid.T
	ctx     context.Context //nolint:containedctx // a test's
	now     time.Time
	path    string
	ledger  string
	remotes map[string]*walkRemote
	names   []string // that the pool had, the present one last
	arrived []walkCall
	doubt   int64 // counted, perhaps, and not arrived
	refused int64
}

type walkCall struct {
	at     time.Time
	amount int64
	// noRow says that no journal has the call any more.
	noRow bool
}

// walkRemote is a server that can be away, or carry out one operation and not answer.
type walkRemote struct {
	*memremote.Remote

	away, mute bool
	kept       memremote.Image
	isKept     bool
}

var errAway = fmt.Errorf("%w: connection refused", quota.ErrUnavailable)

func (s *walkRemote) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	if s.away {
		return quota.Decision{}, errAway
	}
	return s.Remote.Take(ctx, a)
}

func (s *walkRemote) Drain(ctx context.Context, account, pool string, d quota.Drain) error {
	if s.away {
		return errAway
	}
	return s.Remote.Drain(ctx, account, pool, d)
}

func (s *walkRemote) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	if s.away {
		return quota.Decision{}, errAway
	}
	d, err := s.Remote.TakeOnce(ctx, a, op)
	if s.mute {
		return quota.Decision{}, errLine
	}
	return d, err
}

func (s *walkRemote) State(ctx context.Context, account string, writers []string) (sharedledger.RemoteState, error) {
	if s.away {
		return sharedledger.RemoteState{}, errAway
	}
	return s.Remote.State(ctx, account, writers)
}

func (s *walkRemote) Renew(ctx context.Context, n sharedledger.Renewal) (sharedledger.Generation, error) {
	if s.away {
		return 0, errAway
	}
	return s.Remote.Renew(ctx, n)
}

func (s *walkRemote) Sync(ctx context.Context, b sharedledger.Batch) (time.Time, error) {
	if s.away {
		return time.Time{}, errAway
	}
	return s.Remote.Sync(ctx, b)
}

func newWalk(r *rapid.T, t *testing.T) *walk {
	dir, err := os.MkdirTemp(t.TempDir(), "walk")
	if err != nil {
		r.Fatal(err)
	}
	w := &walk{r: r, ctx: t.Context(), now: time.Date(2026, 6, 1, 19, 0, 0, 0, time.UTC), path: filepath.Join(dir, "quota.db"), ledger: "sqlite", names: []string{"units"}, remotes: map[string]*walkRemote{}}
	for _, name := range ledgers[1:] {
		w.remotes[name] = &walkRemote{Remote: &memremote.Remote{Now: func() time.Time { return w.now }}}
	}
	return w
}

// pool is the pool's present name.
func (w *walk) pool() string { return w.names[len(w.names)-1] }

// with runs one process; killed says that it ends without a word.
func (w *walk) with(killed bool, do func(*quota.Governor)) {
	w.now = w.now.Add(10 * time.Second)
	now := func() time.Time { return w.now }
	local, err := sqliteledger.Open(w.ctx, w.path)
	if err != nil {
		w.r.Fatal(err)
	}
	defer func() { _ = local.Close() }()
	local.Now = now
	tariff := wholeTariff()
	tariff.Pools = []quota.Pool{{Name: w.pool(), Was: w.names[:len(w.names)-1], Windows: []quota.Window{{Name: "24h", Length: 24 * time.Hour, Limit: walkLimit}, {Name: "day", Limit: walkLimit}}}}
	tariff.Methods = map[string]quota.Cost{"videos.list": {w.pool(): 1}}
	tariff.Failure.OpenAtMost, tariff.Failure.Emergency = 10_000, 50_000
	g := &quota.Governor{Ledger: local, EmergencyAccount: local, Tariff: tariff, Account: "default", Now: now}
	if remote := w.remotes[w.ledger]; remote != nil {
		shared, err := sharedledger.Open(tariff, remote, local, 1)
		if err != nil {
			w.r.Fatal(err)
		}
		shared.Now, shared.Pause, shared.ShortWait = now, func(context.Context, time.Duration) {}, time.Minute
		if !killed {
			defer func() { _ = shared.Close() }()
		}
		g.Ledger, g.EmergencyAccount = shared, shared
	}
	do(g)
}

// makes a call, if it is admitted.
func (w *walk) makes(g *quota.Governor) bool {
	w.now = w.now.Add(time.Second)
	d, err := g.Take(w.ctx, quota.Request{Method: "videos.list", Purpose: quota.Scheduled})
	switch {
	case err == nil && d.Allowed:
		w.arrived = append(w.arrived, walkCall{at: w.now, amount: 1})
		return true
	case errors.Is(err, quota.ErrInDoubt):
		w.doubt++
	case err != nil && !errors.Is(err, quota.ErrClosed) && !errors.Is(err, quota.ErrUnavailable):
		w.r.Fatal(err)
	case err == nil:
		w.refused++
	}
	return false
}

func (w *walk) spend(units int) {
	w.with(false, func(g *quota.Governor) {
		for range units {
			if !w.makes(g) {
				return
			}
		}
	})
}

// killed makes a call, loses the server's answer, and the process dies.
func (w *walk) killed() {
	w.with(true, func(g *quota.Governor) {
		w.makes(g)
		if s := w.remotes[w.ledger]; s != nil {
			s.mute = true
			w.makes(g)
			s.mute = false
			w.doubt++
		}
	})
}

func (w *walk) allBack() {
	for _, s := range w.remotes {
		s.away = false
	}
	w.now = w.now.Add(10 * time.Minute) // no breaker is open any more
}

func (w *walk) kept(name string) {
	w.remotes[name].kept, w.remotes[name].isKept = w.remotes[name].Image(), true
}

func (w *walk) restored(name string) {
	if s := w.remotes[name]; s.isKept {
		s.Load(s.kept)
	}
}

// rebuild does the work of quota rebuild with a file that was lost or, whole, had a damaged header; then a person
// posts the provider's count.
func (w *walk) rebuild(whole bool) {
	w.with(false, func(*quota.Governor) {}) // there is one
	for i := range w.arrived {
		w.arrived[i].noRow = w.arrived[i].noRow || !whole
	}
	from := ""
	if whole {
		from = w.path + ".broken"
	}
	data, err := os.ReadFile(w.path)
	if err == nil && whole {
		clear(data[:100])
		err = os.WriteFile(from, data, 0o600)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(w.path + suffix)
	}
	if err != nil {
		w.r.Fatal(err)
	}
	lost := ""
	err = sqliteledger.Replace(w.ctx, w.path, from, func(l *sqliteledger.Ledger, why string) error {
		if lost = why; lost == "" {
			return nil
		}
		l.Now = func() time.Time { return w.now }
		g := &quota.Governor{Ledger: l, Tariff: wholeTariff(), Account: "default", Now: l.Now}
		return g.CloseUnknown(w.ctx, "units")
	})
	if err != nil {
		w.r.Fatal(err)
	}
	if whole && lost != "" {
		w.r.Fatalf("a file with all its pages lost something: %s", lost)
	}
}

// post says that another tool has spent something, if that fits; where use is not known, it posts the provider's
// count.
func (w *walk) post(units int64, ago time.Duration) {
	w.with(false, func(g *quota.Governor) {
		r, err := g.Report(w.ctx)
		if err != nil {
			return
		}
		who := quota.Who{Purpose: quota.Manual, Method: protocol.PostMethod}
		if p := r.Pools[0]; !p.Unknown.IsZero() {
			var posted int64
			posted, err = g.PostTotal(w.ctx, who, w.pool(), max(w.count(24*time.Hour), w.today()))
			w.doubt += posted // a server that comes back may count the same
		} else if units <= p.Remaining[quota.Scheduled] && p.DrainedUntil.IsZero() {
			if err = g.Post(w.ctx, who, quota.Cost{w.pool(): units}, w.now.Add(-ago)); err == nil {
				w.arrived = append(w.arrived, walkCall{at: w.now.Add(-ago), amount: units})
			}
		}
		if err != nil && !errors.Is(err, quota.ErrUnavailable) {
			w.r.Fatal(err)
		}
	})
}

// drains closes the pool, or opens one that a person closed: it is open then.
func (w *walk) drains(lift bool) {
	w.with(false, func(g *quota.Governor) {
		r, err := g.Report(w.ctx)
		if err != nil || lift && r.Pools[0].DrainedByHand.IsZero() {
			return
		}
		if err = g.DrainByHand(w.ctx, w.pool(), lift); err != nil && !errors.Is(err, quota.ErrUnavailable) {
			w.r.Fatal(err)
		}
	})
	if !lift {
		return
	}
	w.with(false, func(g *quota.Governor) {
		if r, err := g.Report(w.ctx); err == nil && !r.Pools[0].DrainedByHand.IsZero() && w.remotes[w.ledger] != nil {
			w.r.Fatalf("a pool that was opened on %s is closed again", w.ledger)
		}
	})
}

// count is the amount that arrived within a time until now.
func (w *walk) count(within time.Duration) (sum int64) {
	for _, c := range w.arrived {
		if w.now.Sub(c.at) < within {
			sum += c.amount
		}
	}
	return sum
}

// most is the most that a ledger may count as arrived within a day, at the hour or two before which it forgets.
func (w *walk) most() (sum int64) {
	for _, c := range w.arrived {
		latest := c.at
		if c.noRow {
			y, m, d := c.at.In(pacific).Date()
			latest = time.Date(y, m, d+1, 0, 0, 0, 0, pacific)
		}
		if w.now.Sub(latest) < 26*time.Hour {
			sum += c.amount
		}
	}
	return sum
}

// today is the amount that arrived in the provider's day.
func (w *walk) today() (sum int64) {
	for _, c := range w.arrived {
		if c.at.In(pacific).Format(time.DateOnly) == w.now.In(pacific).Format(time.DateOnly) {
			sum += c.amount
		}
	}
	return sum
}

// judge compares the provider's count with the limit, and with the count of the ledger in use if it answers and
// knows.
func (w *walk) judge() {
	if arrived := max(w.count(24*time.Hour), w.today()); arrived > walkLimit {
		w.r.Fatalf("on %s: %d of %d arrived", w.ledger, arrived, walkLimit)
	}
	w.with(false, func(g *quota.Governor) {
		r, err := g.Report(w.ctx)
		if err != nil || !r.Pools[0].Unknown.IsZero() {
			return
		}
		for _, window := range r.Pools[0].Windows {
			least, most := w.today(), w.most()
			if !window.Window.Day() {
				least = w.count(24 * time.Hour)
			}
			if window.Used < least || window.Used > most+w.doubt {
				w.r.Fatalf("on %s, window %s: %d are counted, %d to %d arrived, %d in doubt", w.ledger, window.Window.Name, window.Used, least, most, w.doubt)
			}
		}
	})
}
