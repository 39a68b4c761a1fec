package quotatest

import (
	"errors"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// row returns a row that was charged at its own time.
func (r *rig) row(writer string, number int64, at time.Time, amount int64) sharedledger.Row {
	return sharedledger.Row{Account: r.account, Writer: writer, Number: number, Nonce: op(writer, number).Nonce, At: at,
		Who: r.who, Amounts: quota.Cost{"units": amount}, State: sharedledger.RowCharged}
}

// snapshot returns the use of the pool "units" in the rig's sliding windows.
func (r *rig) snapshot(at time.Time, used ...int64) sharedledger.UsageSnapshot {
	l := sharedledger.UsageSnapshot{Pool: "units", Generation: first, At: at}
	for i, u := range used {
		w := r.bounds[i].Window
		l.Windows = append(l.Windows,
			sharedledger.WindowUsage{Window: w, Start: at.Add(-w.Length - r.grace + time.Microsecond), Used: u})
	}
	return l
}

// sync applies a batch to the generation that it names, or to the first.
func (r *rig) sync(d sharedledger.Batch) {
	r.Helper()
	d.Account, d.Horizon = r.account, max(d.Horizon, quota.MinHorizon)
	if d.Generation == 0 {
		d.Generation = first
	}
	if _, err := r.remote().Sync(r.Context(), d); err != nil {
		r.Fatalf("%s: sync %+v: %v", r.at(), d, err)
	}
}

func (r *rig) rows(rows ...sharedledger.Row) {
	r.Helper()
	r.sync(sharedledger.Batch{Rows: rows})
}

func (r *rig) raises(snapshots ...sharedledger.UsageSnapshot) {
	r.Helper()
	r.sync(sharedledger.Batch{Snapshots: snapshots})
}

// unknown returns how much of the pool "units" is unattributed.
func (r *rig) unknown() int64 {
	r.Helper()
	sum := int64(0)
	for _, s := range mustSpent(r, r.ledger) {
		if s.Who == sharedledger.Unattributed && s.Pool == "units" {
			sum += s.Amount
		}
	}
	return sum
}

var batches = []Case{
	{ID: "G5", Name: "rows are synced once, however often, each at its own time", check: func(r *rig) {
		r.begin(per(time.Hour, 100), per(24*time.Hour, 100))
		r.clock.Set(noon.Add(30 * time.Minute))
		r.charges(op("b", 1), 1)
		rows := []sharedledger.Row{r.row("a", 1, noon.Add(20*time.Minute), 2), r.row("a", 3, noon.Add(5*time.Minute), 4),
			r.row("c", 1, noon.Add(10*time.Minute), 8)}
		r.rows(rows[:1]...)
		for range 2 {
			r.rows(rows...)
			r.used(15, 15)
		}
		r.rows(rows[0]) // late
		r.used(15, 15)
		if s := r.standing("a", "b", "c").Written; s["a"] != 3 || s["b"] != 1 || s["c"] != 1 {
			r.Fatalf("%v, want 3, 1 and 1", s)
		}
		for _, step := range []struct {
			after time.Duration
			used  int64
		}{{65 * time.Minute, 11}, {70 * time.Minute, 3}, {80 * time.Minute, 1}, {90 * time.Minute, 0}} {
			r.clock.Set(noon.Add(step.after - time.Microsecond))
			used := r.take(0).Pools[0].Windows[0].Used
			r.clock.Set(noon.Add(step.after))
			r.used(step.used, 15)
			if used == step.used {
				r.Fatalf("%d used just before %v, too", used, step.after)
			}
		}
	}},
	{ID: "G5", Name: "a row syncs all its pools, whatever is used", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		r.charges(op("b", 1), 10)
		row := r.row("a", 1, noon, 100)
		row.Amounts["search"] = 1
		row.Who = quota.Who{Purpose: quota.Manual, Method: "search.list", Client: "reports"}
		r.rows(row)
		d := r.draw(charge("units", 0, r.bounds...), charge("search", 0, per(time.Hour, 5)))
		if d.Pools[0].Windows[0].Used != 110 || d.Pools[1].Windows[0].Used != 1 {
			r.Fatalf("%+v, want 110 and 1 used", d.Pools)
		}
		want := quota.Spent{Pool: "units", Who: row.Who, Amount: 100}
		if got := mustSpent(r, r.ledger); !slices.Contains(got, want) {
			r.Fatalf("spent %v, want %v among it", got, want)
		}
		r.refuses(1, 0)
		r.pass(time.Hour)
		r.admits(10, 0)
	}},
	{ID: "G5", Name: "a row from the future is moved to the clock, and one from before the horizon does not count",
		check: func(r *rig) {
			r.begin(per(time.Hour, 10), per(25*time.Hour, 10))
			r.rows(r.row("a", 1, noon.Add(time.Hour), 3), r.row("b", 5, noon.Add(-quota.MinHorizon), 4))
			r.used(3, 3)
			r.wrote("a", 1)
			r.wrote("b", 5)
			if d := r.take(8); d.Allowed || d.RetryAfter != 25*time.Hour {
				r.Fatalf("%+v, want it refused for 25 hours", d)
			}
		}},
	{ID: "G5", Name: "the writer's own operations are not synced again", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		d := r.charges(op("a", 2), 3)
		r.rows(r.row("a", 1, noon, 4), r.row("a", 2, noon, 3))
		r.used(3)
		r.wrote("a", 2)
		if again := r.charges(op("a", 2), 3); again.Pools[0].Entry != d.Pools[0].Entry {
			r.Fatalf("%+v, at first %+v", again, d)
		}
	}},
	{ID: "G8", Name: "an operation that was synced is not carried out", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		r.rows(r.row("a", 4, noon, 3), r.row("a", 5, noon, 1))
		r.failsOnce(sharedledger.ErrSynced, op("a", 5), 1)
		r.failsOnce(sharedledger.ErrClone, op("a", 4), 3) // the next is written already
		other := op("a", 5)
		other.Nonce++
		r.failsOnce(sharedledger.ErrClone, other, 1)
		o := op("a", 6)
		o.Written = 5
		r.charges(o, 1)
		r.used(5)
	}},
	{ID: "G5", Name: "hosts are listed once, with the ledger's time", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		r.sync(sharedledger.Batch{Rows: []sharedledger.Row{r.row("a", 1, noon, 1)}})
		if hosts := r.standing().Hosts; len(hosts) != 0 {
			r.Fatalf("%+v: it has more to sync, want none", hosts)
		}
		for i, id := range []string{"one", "two", "one"} {
			r.pass(time.Minute)
			r.sync(sharedledger.Batch{Host: &sharedledger.Host{ID: id, Name: "web-1:/var/lib/ingest",
				Regions: []string{"US", "GB"}[:i%2+1]}})
		}
		hosts := r.standing().Hosts
		slices.SortFunc(hosts, func(a, b sharedledger.Host) int { return a.At.Compare(b.At) })
		if len(hosts) != 2 || hosts[0].ID != "two" || hosts[1].ID != "one" || !hosts[1].At.Equal(r.clock.Now()) {
			r.Fatalf("synced hosts: got %+v, want two, then one now", hosts)
		}
		if two := hosts[0]; two.Name != "web-1:/var/lib/ingest" || !slices.Equal(two.Regions, []string{"US", "GB"}) {
			r.Fatalf("host two: got %+v, want its name, and US and GB", two)
		}
	}},
	{ID: "G5", Name: "a drain is synced with a snapshot, and never shortened", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		l := r.snapshot(noon, 0)
		l.Drain = quota.Drain{Until: noon.Add(3 * time.Hour), Used: 6812}
		r.raises(l)
		l.Drain, l.At = quota.Drain{Until: noon.Add(time.Hour)}, noon.Add(second)
		r.raises(l)
		r.clock.Set(noon.Add(2 * time.Hour))
		d := r.refuses(1, 0)
		if d.Refusal.Window != protocol.DrainWindow || d.Refusal.Used != 6812 || d.RetryAfter != time.Hour {
			r.Fatalf("%+v, want %v, 6812 and %v", d, protocol.DrainWindow, time.Hour)
		}
	}},
	{ID: "G5", Name: "a sync neither replaces nor lifts the drain of a pool whose use is unknown, " +
		"and brings it whenever it comes", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		unknown := quota.Drain{By: quota.ByUnknown, At: noon, Until: noon.Add(time.Hour)}
		later := r.snapshot(noon.Add(second), 0)
		r.raises(later) // from a host that does not know
		l := r.snapshot(noon, 0)
		l.Drain = unknown
		r.raises(l)
		later.At = noon.Add(2 * second)
		r.raises(later)
		later.At, later.Owed, later.Drain = noon.Add(3*second), true,
			quota.Drain{By: quota.ByHand, At: noon, Until: noon.Add(2 * time.Hour)}
		r.raises(later)
		unknown.Until = later.Drain.Until
		if got := r.take(0).Pools[0].LastDrain; !got.Equal(unknown) {
			r.Fatalf("drained by %+v, want %+v", got, unknown)
		}
		known := quota.Drain{By: quota.ByUnknown, At: noon.Add(second), Until: noon.Add(second)}
		r.pass(5 * second)
		later.At, later.Drain = noon.Add(4*second), known
		r.raises(later)
		r.raises(l)
		if got := r.take(0).Pools[0].LastDrain; !got.Equal(known) {
			r.Fatalf("drained by %+v, want %+v", got, known)
		}
	}},
	{ID: "E4", Name: "a sync's longer horizon stays", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		r.sync(sharedledger.Batch{Horizon: 50 * time.Hour, Rows: []sharedledger.Row{r.row("a", 1, noon, 3)}})
		r.pass(30 * time.Hour)
		r.charges(op("b", 1), 1)
		r.pass(17 * time.Hour)
		r.charges(op("b", 2), 1)
		r.bounds = []quota.Bound{per(48*time.Hour, 10)}
		r.used(5)
	}},
}

var unattributed = []Case{
	{ID: "G5", Name: "a snapshot raises its pool to the use that it saw, at its own time", check: func(r *rig) {
		r.begin(per(time.Hour, 8), per(24*time.Hour, 20))
		r.charges(op("a", 1), 1)
		r.clock.Set(noon.Add(40 * time.Minute))
		r.rows(r.row("b", 1, noon.Add(10*time.Minute), 2), r.row("b", 2, noon.Add(35*time.Minute), 1))
		r.raises(r.snapshot(noon.Add(30*time.Minute), 7, 9)) // 3 are counted: 4 are missing, and 2 of before the hour
		r.used(8, 10)
		if got := r.unknown(); got != 6 {
			r.Fatalf("%d unattributed, want 6", got)
		}
		r.refuses(1, 0)
		r.clock.Set(noon.Add(90*time.Minute - time.Microsecond))
		r.used(5, 10)
		r.clock.Set(noon.Add(90 * time.Minute))
		r.used(1, 10)
	}},
	{ID: "G5", Name: "a snapshot that saw less changes nothing", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		r.rows(r.row("a", 1, noon.Add(-2*time.Hour), 5), r.row("a", 2, noon.Add(-time.Minute), 3))
		r.raises(r.snapshot(noon, 3))
		r.raises(r.snapshot(noon.Add(-90*time.Minute), 5))
		r.used(3)
		if got := r.unknown(); got != 0 {
			r.Fatalf("%d unattributed, want 0", got)
		}
	}},
	{ID: "G5", Name: "a snapshot no younger than an applied one changes nothing", check: func(r *rig) {
		r.begin(per(time.Hour, 100))
		r.clock.Set(noon.Add(10 * time.Minute))
		r.raises(r.snapshot(noon.Add(time.Minute), 5))
		r.raises(r.snapshot(noon.Add(time.Minute), 6), r.snapshot(noon, 9))
		r.used(5)
		r.raises(r.snapshot(noon.Add(2*time.Minute), 8)) // younger
		r.used(8)
		older := r.snapshot(noon.Add(90*time.Second), 7)
		older.Generation = next // of another generation: it counts as if it had come before the younger one
		r.raises(older)
		r.used(8)
	}},
	{ID: "K2", Name: "snapshots raise as if they came in the order of their times", check: func(r *rig) {
		at := func(minutes int, used ...int64) sharedledger.UsageSnapshot {
			s := r.snapshot(noon.Add(time.Duration(minutes)*time.Minute), used...)
			s.Generation -= sharedledger.Generation(minutes) // as many generations
			return s
		}
		for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {2, 0, 1}} {
			r.begin(per(24*time.Hour, 100), per(20*time.Minute, 100))
			r.clock.Set(noon.Add(time.Hour))
			for _, i := range order { // 6 early ones, 3 that the second short window does not have, 2 late ones
				r.raises([]sharedledger.UsageSnapshot{at(5, 6, 6), at(50, 9, 0), at(55, 11, 2)}[i])
			}
			r.used(11, 2)
			r.rows(r.row("away", 1, noon.Add(4*time.Minute), 6), r.row("away", 2, noon.Add(52*time.Minute), 2))
			r.used(11, 2)
			r.clock.Set(noon.Add(24*time.Hour + 50*time.Minute))
			r.used(2, 0)
			r.begin(per(24*time.Hour, 100), per(20*time.Minute, 100))
			r.clock.Set(noon.Add(time.Hour))
			for _, i := range order { // the late ones in the short window are not the early ones
				r.raises([]sharedledger.UsageSnapshot{at(5, 6, 6), at(50, 6, 6), at(55, 6, 6)}[i])
			}
			r.used(12, 6)
		}
	}},
	{ID: "G5", Name: "a returning host is netted against the charge that stood for it", check: func(r *rig) {
		r.begin(per(time.Hour, 100))
		r.clock.Set(noon.Add(10 * time.Minute))
		// The ledger is lost. One host is here: it spent 3, and saw 10 used.
		r.rows(r.row("here", 1, noon, 3))
		r.raises(r.snapshot(noon.Add(4*time.Minute), 10))
		r.used(10)
		// The other comes back: it spent 5 before that snapshot, and 2 after it.
		r.rows(r.row("away", 1, noon.Add(time.Minute), 5))
		r.used(10)
		r.rows(r.row("away", 2, noon.Add(5*time.Minute), 2))
		r.used(12)
		if got := r.unknown(); got != 2 {
			r.Fatalf("%d unattributed, want 2", got)
		}
		// The part above the rest of the charge is added.
		r.rows(r.row("third", 1, noon.Add(2*time.Minute), 6))
		r.used(16)
		// A netted amount now counts at its own time.
		r.clock.Set(noon.Add(time.Hour))
		r.used(13)
		r.clock.Set(noon.Add(61 * time.Minute))
		r.used(8)
		r.clock.Set(noon.Add(62 * time.Minute))
		r.used(2)
	}},
	{ID: "G5", Name: "an amount that no snapshot can have counted is added whole", check: func(r *rig) {
		for _, state := range []sharedledger.RowState{sharedledger.RowAsked, sharedledger.RowOwed} {
			r.begin(per(time.Hour, 100))
			r.clock.Set(noon.Add(10 * time.Minute))
			r.raises(r.snapshot(noon.Add(4*time.Minute), 10))
			row := r.row("away", 1, noon, 5)
			row.State = state
			r.rows(row)
			r.used(15)
		}
	}},
	{ID: "G5", Name: "of two unattributed charges the earlier is netted first", check: func(r *rig) {
		r.begin(per(time.Hour, 100))
		r.clock.Set(noon.Add(10 * time.Minute))
		r.raises(r.snapshot(noon.Add(2*time.Minute), 4))
		r.raises(r.snapshot(noon.Add(4*time.Minute), 7))
		r.rows(r.row("away", 1, noon.Add(3*time.Minute), 1)) // the first snapshot had not seen it
		r.used(7)
		r.rows(r.row("away", 2, noon.Add(time.Minute), 5))
		r.used(7)
		r.clock.Set(noon.Add(62 * time.Minute)) // nothing of the first charge is left
		r.used(2)
		r.clock.Set(noon.Add(63 * time.Minute))
		r.used(1)
	}},
	{ID: "G5", Name: "a row is netted against the charge of a snapshot that a younger one with one window has replaced",
		check: func(r *rig) {
			r.begin(per(time.Hour, 100), per(24*time.Hour, 100))
			r.clock.Set(noon.Add(10 * time.Minute))
			r.raises(r.snapshot(noon.Add(4*time.Minute), 0, 12)) // charged an hour before
			younger := r.snapshot(noon.Add(6*time.Minute), 0, 0)
			younger.Windows = younger.Windows[:1]
			r.raises(younger)
			r.used(0, 12)
			r.rows(r.row("away", 1, noon.Add(2*time.Minute), 5))
			r.used(5, 12)
		}},
	{ID: "G5", Name: "two hosts, one of them away: nothing is spent twice, and nothing is lost",
		Needs: Evict, check: func(r *rig) {
			const limit = 50
			r.begin(per(time.Hour, limit))
			var away, here []sharedledger.Row
			last := quota.Decision{}
			for i := range int64(8) {
				r.pass(time.Minute)
				last = r.charges(op("away", i+1), 3)
				away = append(away, r.row("away", i+1, last.At, 3))
				r.pass(second)
				last = r.charges(op("here", i+1), 2)
				here = append(here, r.row("here", i+1, last.At, 2))
			}
			seen := r.snapshot(last.At, last.Pools[0].Windows[0].Used)
			r.store.Evict(r)
			r.pass(second)
			r.renew(sharedledger.Renewal{Next: next}, next)
			r.sync(sharedledger.Batch{Generation: next, Rows: here, Snapshots: []sharedledger.UsageSnapshot{seen},
				Host: &sharedledger.Host{ID: "here"}})
			r.used(40)
			o := op("here", 9)
			o.Generation = next
			r.charges(o, 10)
			for range 2 { // the answer to the first was lost
				r.sync(sharedledger.Batch{Generation: next, Rows: away, Host: &sharedledger.Host{ID: "away"}})
				r.used(limit)
			}
			r.refuses(1, 0)
			if s := r.standing(); len(s.Hosts) != 2 {
				r.Fatalf("%+v, want 2 Hosts", s)
			}
			if got := r.unknown(); got != 0 {
				r.Fatalf("%d unattributed, and every host is here, want 0", got)
			}
			o = op("away", 8)
			o.Generation = next
			if _, err := r.once(o, 3); !errors.Is(err, sharedledger.ErrSynced) {
				r.Fatalf("%v, want error %v", err, sharedledger.ErrSynced)
			}
		}},
}
