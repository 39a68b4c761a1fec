package report_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/regions"
)

// BenchmarkFreshness: every heartbeat, page and probe asks for it. Its time grows as the number of series, which all
// wait here.
func BenchmarkFreshness(b *testing.B) {
	for _, jobs := range []int{30, 300} {
		b.Run(fmt.Sprintf("%d series", 8*jobs), func(b *testing.B) {
			var all []ingest.Job
			for i := range jobs {
				all = append(all, ingest.Job{Name: fmt.Sprintf("job%03d", i), Kind: ingest.KindChart, Regions: []ingest.Region{"US", "GB", "DE", "FR", "IN", "BR", "AU", "CA"}, Every: time.Hour})
			}
			schedule, err := regions.NewSchedule(all)
			if err != nil {
				b.Fatal(err)
			}
			l := ingest.Latest{Done: map[ingest.Series]ingest.Slot{}}
			for _, s := range schedule.Series() {
				l.Done[s] = ingest.Slot{SlotKey: ingest.SlotKey{Job: s.Job, Key: s.Key, DueAt: noon.Add(-5 * time.Hour)}}
			}
			for b.Loop() {
				s := standing.At(standing.Facts{Now: noon, Pace: budget.PacedSchedule{Schedule: schedule}, Latest: l, StaleAfter: 3})
				if f := report.NewFreshness(s); len(f.Series) != 8*jobs || len(s.StaleSeries()) != 8*jobs {
					b.Fatal(len(s.StaleSeries()))
				}
			}
		})
	}
}
