package regions_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/regions"
)

// defaultSchedule is the schedule of a config that names no jobs: nine series.
func defaultSchedule(b testing.TB) regions.Schedule {
	schedule, err := regions.NewSchedule([]ingest.Job{chart(30*time.Minute, ""), {Name: "refresh", Kind: ingest.KindRefresh, Every: 24 * time.Hour}})
	if err != nil {
		b.Fatal(err)
	}
	return schedule
}

// largeSchedule has 40 jobs of 250 regions each, half of them with a cron line in a zone.
func largeSchedule(b testing.TB) regions.Schedule {
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
	schedule, err := regions.NewSchedule(jobs)
	if err != nil {
		b.Fatal(err)
	}
	return schedule
}

// upToDate returns the entries of a table that has every slot due at now.
func upToDate(schedule regions.Schedule, now time.Time) map[ingest.Series]time.Time {
	known := map[ingest.Series]time.Time{}
	for _, s := range schedule.Due(nil, now) {
		known[s.Series()] = s.DueAt
	}
	return known
}

var benchNow = time.Date(2026, 11, 1, 5, 59, 30, 0, time.UTC)

func BenchmarkDueNothing(b *testing.B) {
	for _, c := range []struct {
		name     string
		schedule regions.Schedule
	}{{"default", defaultSchedule(b)}, {"10000", largeSchedule(b)}} {
		b.Run(c.name, func(b *testing.B) {
			known := upToDate(c.schedule, benchNow)
			b.ReportAllocs()
			for b.Loop() {
				if due := c.schedule.Due(known, benchNow); len(due) > 0 {
					b.Fatal(due)
				}
			}
		})
	}
}

func BenchmarkDue10000(b *testing.B) {
	schedule := largeSchedule(b)
	known := map[ingest.Series]time.Time{}
	for _, s := range schedule {
		for _, k := range s.Latest(benchNow) { // one slot ago: one due, none missed
			known[k.Series()] = k.DueAt.Add(-time.Second)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if due := schedule.Due(known, benchNow); len(due) != 10000 {
			b.Fatal(len(due))
		}
	}
}

func BenchmarkScheduleNext(b *testing.B) {
	for _, c := range []struct {
		name     string
		schedule regions.Schedule
	}{{"default", defaultSchedule(b)}, {"10000", largeSchedule(b)}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				c.schedule.Next(benchNow)
			}
		})
	}
}

// BenchmarkNexts: every run asks for it once, and ingest slots. Its time grows as the number of series.
func BenchmarkNexts(b *testing.B) {
	schedule := largeSchedule(b)
	l := ingest.Latest{Done: map[ingest.Series]ingest.Slot{}}
	for s, due := range upToDate(schedule, benchNow) {
		l.Done[s] = ingest.Slot{SlotKey: ingest.SlotKey{Job: s.Job, Key: s.Key, DueAt: due}, State: ingest.Done}
	}
	for b.Loop() {
		if next := schedule.Nexts(l, benchNow); len(next) < 5000 { // some lines name a day of the next year
			b.Fatal(len(next))
		}
	}
}

func BenchmarkLatest(b *testing.B) {
	for _, line := range []string{"*/20 * * * *", "CRON_TZ=America/New_York 30 1 * * *", "CRON_TZ=America/New_York 30 * * * 0", "0 6 29 2 *"} {
		b.Run(line, func(b *testing.B) {
			s, err := regions.NewJobSchedule(oneRegion(line))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				s.Latest(benchNow)
			}
		})
	}
}

// A heartbeat asks for the due slots 2,880 times a day: that must cost a host next to nothing.
func TestDueOfAnIdleDefaultScheduleTakesNoTimeWorthNaming(t *testing.T) {
	schedule := defaultSchedule(t)
	known := upToDate(schedule, benchNow)
	if allocs := testing.AllocsPerRun(100, func() { schedule.Due(known, benchNow) }); allocs > 0 {
		t.Errorf("%v allocations when nothing is due, want none", allocs)
	}
}
