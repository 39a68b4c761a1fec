package regions_test

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/regions"
)

// With any rows, and any pacing of the jobs.
func TestNextsAreTheFirstOfUpcoming(t *testing.T) {
	in := []ingest.Region{"US", "GB", "DE"}
	schedule, err := regions.NewSchedule([]ingest.Job{
		{Name: "half", Kind: ingest.KindChart, Regions: in, Every: 30 * time.Minute},
		{Name: "days", Kind: ingest.KindChart, Regions: in, Every: 75 * time.Hour},
		{Name: "line", Kind: ingest.KindChart, Regions: in, Cron: "15 3 * * 1"},
		{Name: "year", Kind: ingest.KindChart, Regions: in, Cron: "0 6 1 9 *"}, // too far ahead
		{Name: "refresh", Kind: ingest.KindRefresh, Every: 24 * time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 2, 14, 10, 7, 31, 0, time.UTC)
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		ago := func(most time.Duration) time.Time {
			return now.Add(-time.Duration(r.Int64N(int64(most)))).Truncate(time.Second)
		}
		paces := map[string]regions.Pace{}
		for _, job := range []string{"half", "days"} {
			if r.IntN(2) == 0 {
				paces[job] = regions.Pace{Gap: time.Duration(1+r.IntN(300)) * time.Minute, Last: ago(5 * time.Hour), Hold: now.Add(time.Duration(r.IntN(600)-300) * time.Minute), Most: r.IntN(4)}
			}
		}
		paced := schedule.AtPace(paces)
		l := ingest.Latest{Done: map[ingest.Series]ingest.Slot{}, Open: map[ingest.Series]ingest.Slot{}, Ended: map[ingest.Series]ingest.Slot{}}
		for _, s := range schedule.Series() {
			row := func(state ingest.State) ingest.Slot {
				return ingest.Slot{SlotKey: ingest.SlotKey{Job: s.Job, Key: s.Key, DueAt: ago(200 * time.Hour)}, State: state}
			}
			if r.IntN(3) > 0 {
				l.Done[s] = row(ingest.Done)
			}
			if r.IntN(4) == 0 {
				l.Open[s] = row(ingest.Due)
			}
			if r.IntN(4) == 0 {
				stopped := row(ingest.Stopped)
				stopped.RetryAt = now.Add(time.Duration(r.IntN(600)-100) * time.Minute)
				l.Ended[s] = stopped
			}
		}
		nexts := paced.Nexts(l, now)
		for _, s := range schedule.Series() {
			got, comes := nexts[s]
			want := paced.Upcoming(l, now, 1, func(other ingest.Series) bool { return other == s })
			if comes != (len(want) == 1) || comes && !reflect.DeepEqual(got, want[0]) {
				t.Fatalf("seed %d, %v: %+v, want %+v", seed, s, got, want)
			}
		}
	}
}
