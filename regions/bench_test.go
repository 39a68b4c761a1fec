package regions_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/regions"
)

// defaultPlan is the plan of a config that names no jobs: nine series.
func defaultPlan(b testing.TB) regions.Plan {
	plan, err := regions.NewPlan([]ingest.Job{chart(30*time.Minute, ""), {Name: "refresh", Kind: ingest.KindRefresh, Every: 24 * time.Hour}})
	if err != nil {
		b.Fatal(err)
	}
	return plan
}

// largePlan has 40 jobs of 250 regions each, half of them with a cron line in a zone.
func largePlan(b testing.TB) regions.Plan {
	var all []ingest.Region
	for i := range 250 {
		all = append(all, ingest.Region([]byte{'A' + byte(i/26), 'A' + byte(i%26)}))
	}
	var jobs []ingest.Job
	for i := range 40 {
		job := ingest.Job{Name: fmt.Sprintf("job%d", i), Kind: ingest.KindChart, Regions: all, Every: time.Duration(i+1) * time.Hour}
		if i%2 == 1 {
			job.Every, job.Cron = 0, fmt.Sprintf("CRON_TZ=America/New_York %d 6 1 %d *", i, i%12+1)
		}
		jobs = append(jobs, job)
	}
	plan, err := regions.NewPlan(jobs)
	if err != nil {
		b.Fatal(err)
	}
	return plan
}

// upToDate returns what a table knows that has every slot due at now.
func upToDate(plan regions.Plan, now time.Time) map[ingest.Series]time.Time {
	known := map[ingest.Series]time.Time{}
	for _, s := range plan.Due(nil, now) {
		known[s.Series()] = s.DueAt
	}
	return known
}

var benchNow = time.Date(2026, 11, 1, 5, 59, 30, 0, time.UTC)

func BenchmarkDueNothing(b *testing.B) {
	for _, c := range []struct {
		name string
		plan regions.Plan
	}{{"default", defaultPlan(b)}, {"10000", largePlan(b)}} {
		b.Run(c.name, func(b *testing.B) {
			known := upToDate(c.plan, benchNow)
			b.ReportAllocs()
			for b.Loop() {
				if due := c.plan.Due(known, benchNow); len(due) > 0 {
					b.Fatal(due)
				}
			}
		})
	}
}

func BenchmarkDue10000(b *testing.B) {
	plan := largePlan(b)
	known := map[ingest.Series]time.Time{}
	for _, s := range plan {
		for _, k := range s.Latest(benchNow) { // one slot ago: one due, none missed
			known[k.Series()] = k.DueAt.Add(-time.Second)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if due := plan.Due(known, benchNow); len(due) != 10000 {
			b.Fatal(len(due))
		}
	}
}

func BenchmarkPlanNext(b *testing.B) {
	for _, c := range []struct {
		name string
		plan regions.Plan
	}{{"default", defaultPlan(b)}, {"10000", largePlan(b)}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				c.plan.Next(benchNow)
			}
		})
	}
}

func BenchmarkLatest(b *testing.B) {
	for _, line := range []string{"*/20 * * * *", "CRON_TZ=America/New_York 30 1 * * *", "CRON_TZ=America/New_York 30 * * * 0", "0 6 29 2 *"} {
		b.Run(line, func(b *testing.B) {
			s, err := regions.New(oneRegion(line))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				s.Latest(benchNow)
			}
		})
	}
}

// A heartbeat asks what is due 2,880 times a day: that must cost a host next to nothing.
func TestDueOfAnIdleDefaultPlanTakesNoTimeWorthNaming(t *testing.T) {
	plan := defaultPlan(t)
	known := upToDate(plan, benchNow)
	if allocs := testing.AllocsPerRun(100, func() { plan.Due(known, benchNow) }); allocs > 0 {
		t.Errorf("%v allocations when nothing is due", allocs)
	}
}
