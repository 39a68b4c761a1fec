package quotatest

import (
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// returning has cases of Report's returns, which come from the ledger's Spent.
var returning = []Case{
	{ID: "R1", Name: "a report says when each used unit comes back, and never too early", check: func(r *rig) {
		r.grace = 30 * second
		r.fresh(noon, per(24*time.Hour, 10_000), daily(10_000))
		for i := range 300 { // at uneven intervals
			r.take(int64(1 + i%7))
			r.pass(time.Duration(1+i*i%11) * time.Minute)
		}
		said := r.report()
		sum := int64(0)
		w := said.Pools[0].Windows[0]
		if len(w.Returns) < 50 || len(w.Returns) > 100 ||
			!said.Pools[0].Windows[1].Returns[0].At.Equal(said.Pools[0].Windows[1].FreesAt) {
			r.Fatalf("%d steps; the day returns %+v, and ends at %v", len(w.Returns), said.Pools[0].Windows[1].Returns,
				said.Pools[0].Windows[1].FreesAt)
		}
		for i, back := range w.Returns {
			sum += back.Amount
			if i%10 != 0 && i != len(w.Returns)-1 {
				continue
			}
			r.clock.Set(back.At)
			if used := r.report().Pools[0].Windows[0].Used; used > w.Used-sum || i+1 == len(w.Returns) && used != 0 {
				r.Fatalf("step %d: %d are used at %v, want at most %d", i, used, back.At, w.Used-sum)
			}
		}
		if sum != w.Used {
			r.Fatalf("%d come back of %d", sum, w.Used)
		}
	}},
	{ID: "R2", Name: "a unit taken within the grace of a midnight counts in both days, and comes back after the second",
		check: func(r *rig) {
			r.grace = 30 * second
			r.fresh(noon, per(24*time.Hour, 10_000), daily(10_000))
			ends := r.report().Pools[0].Windows[1].FreesAt // the grace after midnight
			for i, before := range []time.Duration{time.Hour, 45 * second, 20 * second, 10 * second} {
				r.clock.Set(ends.Add(-before))
				r.take(int64(1) << i)
			}
			day := r.report().Pools[0].Windows[1]
			if day.Used != 15 || len(day.Returns) != 2 || day.Returns[0] != (quota.Return{At: ends, Amount: 1}) ||
				day.Returns[1].Amount != 14 || day.Returns[1].At.Sub(ends).Round(2*time.Hour) != 24*time.Hour {
				r.Fatalf("%d used, and %+v", day.Used, day.Returns)
			}
			for n, want := range []int64{14, 0} {
				r.clock.Set(day.Returns[n].At)
				if used := r.report().Pools[0].Windows[1].Used; used != want {
					r.Fatalf("return %d: %d are used then, want %d", n, used, want)
				}
			}
		}},
}

// report returns a governor's report on the pool "units" with the rig's bounds.
func (r *rig) report() quota.Report {
	windows := []quota.Window{}
	for _, b := range r.bounds {
		windows = append(windows, b.Window)
	}
	t := &quota.Tariff{Zone: r.zone, Grace: r.grace, Pools: []quota.Pool{{Name: "units", Windows: windows}},
		Ceilings: map[quota.Purpose]quota.Share{},
		Methods:  map[string]quota.Cost{"videos.list": {"units": 1}}}
	for _, p := range quota.Purposes() {
		t.Ceilings[p] = 1_000_000
	}
	g := &quota.Governor{Ledger: r.ledger, Tariff: t, Account: r.account, Now: r.clock.Now}
	report, err := g.Report(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return report
}
