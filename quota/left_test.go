package quota_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/trendvidstream/ingest/quota"
)

// In random states, with random needs of the schedule, a take of any purpose is admitted exactly if the report says that
// enough is left for it, it leaves what the report said less its cost, and a refused one is admitted when the report says
// that the purpose goes on. 100 runs of 1,000 states.
func TestATakeAgreesWithWhatIsSaidToBeLeft(t *testing.T) {
	methods := []string{"videos.list", "search.list"}
	states := 0
	rapid.Check(t, func(r *rapid.T) {
		d := newTestGovernor(t, "2026-02-14 09:00:00")
		var needs quota.Reserve
		d.Reserve = func(context.Context) quota.Reserve { return needs }
		seed := rapid.Uint64().Draw(r, "seed")
		random := func(n int64) int64 {
			seed = seed*6364136223846793005 + 1442695040888963407
			return int64(seed>>33) % n
		}
		for range 1000 {
			states++
			d.now = d.now.Add(time.Duration(1+random(1+random(4)*3_600)) * time.Second)
			switch random(8) {
			case 0:
				d.spend("units", 1+random(3_000))
			case 1:
				d.spend("search", 1+random(40))
			case 2:
				needs = quota.Reserve{Rest: quota.Cost{"units": random(10_000), "search": random(3) * random(60)}}
			case 3:
				needs.Whole = quota.PerWindow{"units": {"24h": random(10_000)}, "search": {"24h": random(100)}}
				var err error
				if needs.Used, err = d.ScheduledUse(t.Context()); err != nil {
					r.Fatal(err)
				}
				if needs.Rest == nil {
					needs.Rest = quota.Cost{}
				}
			case 4:
				needs = quota.Reserve{}
			}
			purpose, method := quota.Purposes()[random(int64(len(quota.Purposes())))], methods[random(2)]
			cost, err := d.Tariff.Cost(method)
			if err != nil {
				r.Fatal(err)
			}
			before, err := d.Report(t.Context())
			if err != nil {
				r.Fatal(err)
			}
			fits, left := true, map[string]int64{}
			for _, p := range before.Pools {
				if left[p.Pool] = p.Remaining[purpose]; cost[p.Pool] > left[p.Pool] {
					fits = false
				}
			}
			got, err := d.Take(t.Context(), quota.Request{Method: method, Purpose: purpose})
			if errors.Is(err, quota.ErrNeverFits) {
				continue
			}
			if err != nil {
				r.Fatal(err)
			}
			if got.Allowed != fits {
				r.Fatalf("%s for %s, at %v of each pool left, needs %+v: allowed %v: %v", method, purpose, left, needs, got.Allowed, got.Refusal)
			}
			for _, p := range got.Pools {
				if want := left[p.Pool] - p.Charged; p.Remaining != want {
					r.Fatalf("%s for %s leaves %d of %s, and %d were left for it", method, purpose, p.Remaining, p.Pool, left[p.Pool])
				}
			}
		}
	})
	if states < 100_000 {
		t.Errorf("%d states", states)
	}
}

func TestARefusalForTheScheduleSaysWhatItNeeds(t *testing.T) {
	d := newTestGovernor(t, "2026-02-14 09:00:00")
	for _, tt := range []struct {
		used    int64 // more than before
		purpose quota.Purpose
		needs   int64
		method  string
		want    string
	}{
		{9_400, quota.Client, 36, "search.list", "the schedule still needs 36 of the 100 units left in window day; clients may use only 64; "},
		{28, quota.Client, 72, "videos.list", "the schedule still needs 72 of the 72 units left in window day; clients may use none; "},
		{0, quota.Backfill, 72, "videos.list", "the schedule still needs 72 of the 72 units left in window day; backfills may use none; "},
	} {
		if tt.used > 0 {
			d.spend("units", tt.used)
		}
		d.Tariff.Ceilings[tt.purpose] = d.Tariff.Ceilings[quota.Scheduled]
		d.Reserve = func(context.Context) quota.Reserve {
			return quota.Reserve{Rest: quota.Cost{"units": tt.needs}, Whole: quota.PerWindow{}}
		}
		got, err := d.Take(t.Context(), quota.Request{Method: tt.method, Purpose: tt.purpose})
		if err != nil || got.Allowed || got.Refusal.Reserved != tt.needs {
			t.Fatalf("%s: %+v, %v", tt.purpose, got, err)
		}
		if said := d.Explain(t.Context(), got); !strings.HasPrefix(said, tt.want) || strings.Contains(said, "only our own rule refuses") {
			t.Errorf("%s: %s", tt.purpose, said)
		}
	}
}
