package quotatest

import (
	"errors"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

var syncs = []Case{
	{ID: "L4", Name: "a clock a year behind is not believed, even days later, after a sync of the provider's refusal",
		check: func(r *rig) {
			r.begin(per(time.Hour, 5))
			r.charges(op("a", 1), 3)
			r.pass(96 * time.Hour)
			r.raises(sharedledger.UsageSnapshot{Pool: "units", Generation: first, At: r.clock.Now(),
				Owed: true, Drain: quota.Drain{Until: r.clock.Now().Add(time.Hour)}})
			r.clock.Set(noon.AddDate(-1, 0, 0))
			if d, err := r.once(op("a", 2), 1); !errors.Is(err, quota.ErrUnavailable) {
				r.Fatalf("a year before the newest entry: %+v, %v, want error %v", d, err, quota.ErrUnavailable)
			}
		}},
	{ID: "K2", Name: "a row that was synced before is netted against snapshots from its sync on", check: func(r *rig) {
		minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
		for _, c := range []struct {
			name     string
			snapshot int // its minute
			syncs    []sharedledger.Sync
			want     int64
		}{
			{"before", 4, []sharedledger.Sync{{Since: minute(5)}}, 15},
			{"from then on", 4, []sharedledger.Sync{{Since: minute(4)}}, 10},
			{"charged at its own time, then lost", 4, []sharedledger.Sync{{Until: first}, {Since: minute(5)}}, 10},
			{"charged at its own time, then lost before the snapshot", 4,
				[]sharedledger.Sync{{Until: 2 << 28}, {Since: minute(5)}}, 15},
			{"synced, lost, and synced again since", 4,
				[]sharedledger.Sync{{Since: minute(2), Until: first}, {Since: minute(5)}}, 10},
			{"not synced at its time", 4, nil, 10},
			{"before its own time", -1, nil, 15},
		} {
			r.about = "a snapshot " + c.name + ": "
			r.begin(per(time.Hour, 100))
			r.clock.Set(minute(10))
			snapshot := r.snapshot(minute(c.snapshot), 10)
			r.raises(snapshot)
			row := r.row("away", 1, noon, 5)
			row.State, row.Syncs = sharedledger.RowSynced, c.syncs
			r.rows(row)
			r.used(c.want)
		}
	}},
	{ID: "K2", Name: "a snapshot from before a late row's sync did not see the row", check: func(r *rig) {
		r.begin(per(time.Hour, 100))
		r.clock.Set(noon.Add(10 * time.Minute))
		row := r.row("here", 1, noon, 5)
		row.State, row.Syncs = sharedledger.RowSynced, []sharedledger.Sync{{Since: noon.Add(5 * time.Minute)}}
		r.rows(row)
		r.raises(r.snapshot(noon.Add(4*time.Minute), 3)) // of another program
		r.used(8)
		r.raises(r.snapshot(noon.Add(5*time.Minute), 8)) // both
		r.used(8)
	}},
	{ID: "K2", Name: "a row synced and seen by a snapshot within one step is counted once", check: func(r *rig) {
		r.begin(per(time.Hour, 100))
		owed := r.row("here", 1, noon.Add(-time.Hour+7*time.Millisecond+13*time.Microsecond), 5)
		owed.State = sharedledger.RowOwed
		r.rows(owed)
		r.pass(100 * time.Microsecond)
		r.raises(r.snapshot(r.clock.Now(), 5))
		r.used(5)
	}},
	{ID: "K9", Name: "an unused charge is taken back once", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		r.charges(op("b", 1), 2)
		r.charges(op("a", 1), 3)
		r.pass(second)
		r.charges(op("b", 2), 4)
		r.pass(time.Hour - 2*second) // also long after
		row := r.row("a", 1, noon, 3)
		row.State = sharedledger.RowUnused
		for range 2 {
			r.rows(row)
			r.used(6)
			r.wrote("a", 1)
		}
		r.failsOnce(sharedledger.ErrSynced, op("a", 1), 3)
		r.pass(second)
		r.used(4)
		if got := r.charges(op("b", 2), 4); !got.Allowed {
			r.Fatalf("%+v, want it admitted", got)
		}
	}},
	{ID: "K9", Name: "an abandoned operation cannot be carried out late",
		check: func(r *rig) {
			r.begin(per(time.Hour, 10))
			r.charges(op("a", 1), 3)
			row := r.row("a", 2, noon, 3)
			row.State = sharedledger.RowUnused
			r.rows(row)
			r.used(3)
			r.failsOnce(sharedledger.ErrSynced, op("a", 2), 3)
			clone := r.row("a", 2, noon, 3)
			clone.State, clone.Nonce = sharedledger.RowUnused, 5
			o := op("a", 3)
			o.Written = 2
			r.charges(o, 1)
			before := r.row("a", 2, noon, 3)
			before.State = sharedledger.RowUnused
			r.rows(clone, before)
			r.used(4)
		}},
}
