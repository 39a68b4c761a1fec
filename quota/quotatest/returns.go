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
