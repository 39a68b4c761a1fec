package redisledger_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// walk does the same to a ledger in Redis and to one in memory, at random.
type walk struct {
	t     *testing.T
	r     *rand.Rand
	s     *server
	redis *redisledger.Ledger
	mem   *memremote.Remote
	clock *clock
	zone  *time.Location

	account    string
	generation sharedledger.Generation
	writers    map[string]*operations
	taken      [][2]quota.Decision
	precision  time.Duration
	counts     map[string]int
}

// operations has the operations of one writer.
type operations struct {
	heard  time.Time
	number int64 // of the last that was written
	nonce  int64
	ask    quota.Ask
	op     sharedledger.Operation
}

// Every answer of the remote to a shared ledger equals the answer of the remote in memory.
func TestRemoteAnswersAsTheOneInMemory(t *testing.T) { remoteAnswersAsInMemory(t, 3_000) }

func TestLongRemoteAnswersAsTheOneInMemory(t *testing.T) { remoteAnswersAsInMemory(t, 10_000) }

func remoteAnswersAsInMemory(t *testing.T, steps int) {
	t.Helper()
	s := redisServer(t)
	l, c := moved(t, s)
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	w := &walk{t: t, r: rand.New(rand.NewPCG(seed, 0)), s: s, redis: l, clock: c, zone: zone, counts: map[string]int{},
		mem: &memremote.Remote{Now: func() time.Time { return c.now }}}
	for step := range steps {
		if step%300 == 0 {
			w.begin(fmt.Sprintf("account-%d", step))
		}
		w.pass()
		what, want, got := w.step()
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("seed %d step %d: %s at %v:\nwant %+v\ngot  %+v", seed, step, what, c.now, want, got)
		}
	}
	t.Log(w.counts)
}

func (w *walk) begin(account string) {
	w.account, w.generation, w.writers, w.taken = account, sharedledger.Generation(w.r.Int64N(1<<52-1)+1), map[string]*operations{}, nil
	w.precision = []time.Duration{0, 0, 7 * time.Second, time.Minute}[w.r.IntN(4)]
	w.clock.set(time.Date(2026, 10, 31, 20, w.r.IntN(60), 0, 0, w.zone))
	if w.r.IntN(3) == 0 { // there is a state already, without a generation
		a := w.ask()
		for _, l := range []quota.Ledger{w.mem, w.redis} {
			if err := l.Post(w.t.Context(), a, w.clock.now); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	for _, l := range []sharedledger.Remote{w.mem, w.redis} {
		shared(w.t, l, account, w.generation)
	}
}

func (w *walk) pass() {
	d := time.Duration(0)
	switch w.r.IntN(10) {
	case 0:
		d = time.Duration(w.r.Int64N(int64([]time.Duration{2, 2, 12, 30}[w.r.IntN(4)] * time.Hour)))
	case 1, 2:
		d = time.Duration(w.r.Int64N(int64(time.Minute)))
	case 3, 4, 5:
		d = time.Duration(w.r.Int64N(int64(3 * time.Second)))
	}
	w.clock.set(w.clock.now.Add(d))
}

func (w *walk) ask() quota.Ask {
	a := randomAsk(w.r, w.account, w.clock.now, w.zone)
	a.Precision = w.precision
	return a
}

// writer is one that cannot be forgotten by now, or a new one.
func (w *walk) writer() (string, *operations) {
	names := slices.Sorted(maps.Keys(w.writers))
	if len(names) > 0 && w.r.IntN(5) > 0 {
		name := names[w.r.IntN(len(names))]
		if o := w.writers[name]; w.clock.now.Sub(o.heard) < 25*time.Hour {
			return name, o
		}
		delete(w.writers, name)
	}
	name, o := fmt.Sprint("writer", w.r.Uint32()), &operations{heard: w.clock.now}
	w.writers[name] = o
	return name, o
}

func (w *walk) step() (what string, want, got any) {
	ctx := w.t.Context()
	switch n := w.r.IntN(100); {
	case n < 40:
		return w.take()
	case n < 50:
		a := w.ask()
		wd, we := w.mem.Take(ctx, a)
		gd, ge := w.redis.Take(ctx, a)
		if we == nil && ge == nil && wd.Allowed {
			w.taken = append(w.taken, [2]quota.Decision{wd, gd})
		}
		return "plain take", outcome(wd, we), outcome(gd, ge)
	case n < 56 && len(w.taken) > 0:
		d := w.taken[max(0, len(w.taken)-1-w.r.IntN(min(len(w.taken), 5)))]
		return "refund", kind(w.mem.Refund(ctx, w.account, d[0])), kind(w.redis.Refund(ctx, w.account, d[1]))
	case n < 60:
		a, at := w.ask(), w.clock.now.Add(-time.Duration(w.r.Int64N(int64(27*time.Hour))))
		return "post", kind(w.mem.Post(ctx, a, at)), kind(w.redis.Post(ctx, a, at))
	case n < 62:
		until := w.clock.now.Add(time.Duration(w.r.Int64N(int64(time.Hour)))).Truncate(time.Microsecond)
		return "drain", kind(w.mem.Drain(ctx, w.account, "search", quota.Drain{Until: until, Used: 7})), kind(w.redis.Drain(ctx, w.account, "search", quota.Drain{Until: until, Used: 7}))
	case n < 80:
		d := w.batch()
		if d.Generation == w.generation {
			for _, row := range d.Rows {
				if o := w.writers[row.Writer]; row.Number > o.number {
					o.number, o.nonce, o.heard = row.Number, row.Nonce, w.clock.now
				}
			}
		}
		return fmt.Sprintf("sync of %+v", d), synced(w.mem.Sync(ctx, d)), synced(w.redis.Sync(ctx, d))
	case n < 84:
		return w.renew()
	case n < 92:
		var names []string
		for name, o := range w.writers {
			if w.clock.now.Sub(o.heard) < 25*time.Hour {
				names = append(names, name)
			}
		}
		ws, we := w.mem.State(ctx, w.account, names)
		gs, ge := w.redis.State(ctx, w.account, names)
		for _, hosts := range [][]sharedledger.Host{ws.Hosts, gs.Hosts} {
			slices.SortFunc(hosts, func(a, b sharedledger.Host) int { return a.At.Compare(b.At)*2 + len(a.ID) - len(b.ID) })
		}
		return "state", []any{ws, we}, []any{gs, ge}
	default:
		since := w.clock.now.Add(-time.Duration(w.r.Int64N(int64(25 * time.Hour))))
		ws, we := w.mem.Spent(ctx, w.account, since, 0)
		gs, ge := w.redis.Spent(ctx, w.account, since, 0)
		return "spent", []any{ws, we}, []any{gs, ge}
	}
}

// take is one under the next number, or one that was asked before, or one that is wrong.
func (w *walk) take() (what string, want, got any) {
	name, o := w.writer()
	a, op := w.ask(), sharedledger.Operation{Generation: w.generation, Writer: name, Number: o.number + 1, Nonce: w.r.Int64N(1<<50) + 1, Written: o.number}
	switch w.r.IntN(12) {
	case 6:
		if o.number > o.op.Number {
			op.Number, op.Nonce = o.number, o.nonce
		}
	case 0, 1:
		if o.ask.Account != "" && w.clock.now.Sub(o.heard) < 12*time.Hour { // else its midnights are over
			a, op = o.ask, o.op
			op.Generation = w.generation
			a.Midnights = quota.Midnights(w.clock.now, w.zone)
		}
	case 2:
		op.Number = max(1, o.number-w.r.Int64N(2))
	case 3:
		op.Generation = w.generation%1000 + 1
	case 4:
		op.Number, op.Written = o.number+3, o.number+1
	case 5:
		op.Number += 5
	}
	wd, we := w.mem.TakeOnce(w.t.Context(), a, op)
	gd, ge := w.redis.TakeOnce(w.t.Context(), a, op)
	if we == nil && ge == nil && wd.Allowed && op.Number > o.number && slices.ContainsFunc(a.Charges, func(c quota.Charge) bool { return c.Amount > 0 }) {
		*o = operations{w.clock.now, op.Number, op.Nonce, a, op}
		w.taken = append(w.taken, [2]quota.Decision{wd, gd})
	}
	return fmt.Sprintf("take %+v of %+v", op, a), w.remote(wd, we), w.remote(gd, ge)
}

func (w *walk) remote(d quota.Decision, err error) any {
	o := outcome(d, nil)
	if err != nil {
		o = kind(err)
		w.counts[fmt.Sprintf("take: %T %s", o, strings.TrimLeft(fmt.Sprint(o), "{0123456789}"))]++
		return o
	}
	w.counts[fmt.Sprintf("take %t", d.Allowed)]++
	return o
}

// kind is the sort of an error.
func kind(err error) any {
	var other *sharedledger.GenerationError
	if errors.As(err, &other) {
		return *other
	}
	for _, k := range []error{sharedledger.ErrLost, sharedledger.ErrClone, sharedledger.ErrSynced, quota.ErrUnknown, quota.ErrNeverFits,
		quota.ErrUnavailable, quota.ErrCorrupt, quota.ErrNotRefundable} {
		if errors.Is(err, k) {
			return k
		}
	}
	return err
}

// synced is whether it was, or why not.
func synced(_ time.Time, err error) any { return kind(err) }

func (w *walk) batch() sharedledger.Batch {
	d := sharedledger.Batch{Account: w.account, Generation: w.generation, Horizon: quota.MinHorizon}
	for range w.r.IntN(4) {
		name, o := w.writer()
		from := max(1, o.number+1-w.r.Int64N(3))
		for n := from; n < from+w.r.Int64N(6); n++ {
			at := w.clock.now.Add(time.Second - time.Duration(w.r.Int64N(int64([]time.Duration{time.Minute, time.Hour, 27 * time.Hour}[w.r.IntN(3)]))))
			row := sharedledger.Row{Account: w.account, Writer: name, Number: n, Nonce: w.r.Int64N(9) + 1, At: at,
				Who:     quota.Who{Purpose: quota.Scheduled, Region: []string{"US", "GB", "FR"}[w.r.IntN(3)], Method: "m"},
				Amounts: quota.Cost{}, State: []sharedledger.RowState{sharedledger.RowCharged, sharedledger.RowCharged, sharedledger.RowAsked, sharedledger.RowOwed}[w.r.IntN(4)]}
			if row.State != sharedledger.RowCharged { // Redis counts in steps of 2 ms how late it is synced, and would move it
				row.At = w.clock.now.Add(-w.clock.now.Sub(at).Truncate(2 * time.Millisecond))
			}
			for _, p := range []string{"units", "search"}[w.r.IntN(2):] {
				row.Amounts[p] = w.r.Int64N(12)
			}
			d.Rows = append(d.Rows, row)
		}
	}
	for range w.r.IntN(3) {
		at := w.clock.now.Add(-3*time.Millisecond - time.Duration(w.r.Int64N(int64([]time.Duration{time.Hour, 26 * time.Hour}[w.r.IntN(2)])))).Truncate(time.Microsecond)
		k := sharedledger.UsageSnapshot{Pool: []string{"units", "search", "burst"}[w.r.IntN(3)], Generation: w.generation, At: at}
		for _, length := range []time.Duration{time.Hour, 10 * time.Second, 24 * time.Hour}[:1+w.r.IntN(3)] {
			start := at.Add(time.Microsecond - length)
			if oldest := w.clock.now.Add(-25 * time.Hour); start.Before(oldest) {
				start = oldest // an entry beyond the horizon may be there still, or not
			}
			k.Windows = append(k.Windows, sharedledger.WindowUsage{Window: quota.Window{Length: length}, Start: start, Used: w.r.Int64N(60)})
		}
		if w.r.IntN(8) == 0 {
			k.Drain = quota.Drain{Until: w.clock.now.Add(time.Duration(w.r.Int64N(int64(time.Hour)))).Truncate(time.Microsecond), Used: 3}
		}
		d.Snapshots = append(d.Snapshots, k)
	}
	if w.r.IntN(2) == 0 {
		id := []string{"a", "bb", "ccc"}[w.r.IntN(3)]
		d.Host = &sharedledger.Host{ID: id, Name: "host " + id, Regions: []string{"US", "GB"}}
	}
	if w.r.IntN(20) == 0 {
		d.Generation = d.Generation%1000 + 1
	}
	return d
}

// renew begins a new generation, or tries to, sometimes after a loss.
func (w *walk) renew() (what string, want, got any) {
	ctx := w.t.Context()
	r := sharedledger.Renewal{Account: w.account, Pools: []string{"units", "search", "burst"}, Was: w.generation, Next: sharedledger.Generation(w.r.Int64N(1<<52-1) + 1), Horizon: quota.MinHorizon}
	what = "renewal"
	switch w.r.IntN(4) {
	case 0:
		r.Was = r.Was%1000 + 1
	case 1:
		spent, _ := w.mem.Spent(ctx, w.account, w.clock.now.Add(-25*time.Hour), 0) // a log may have expired else
		if !slices.ContainsFunc(spent, func(s quota.Spent) bool { return s.Pool == "units" }) {
			break
		}
		if n := w.s.client.Del(ctx, "ingest:{"+w.account+"}:units").Val(); n == 1 {
			w.mem.Load(w.mem.Image().Without(w.account, "units"))
			what = "renewal after a loss"
			w.writers, w.taken = map[string]*operations{}, nil
		}
	}
	wg, we := w.mem.Renew(ctx, r)
	gg, ge := w.redis.Renew(ctx, r)
	w.generation = wg
	return what, []any{wg, we}, []any{gg, ge}
}
