package regions_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/regions"
)

func TestASeriesIsStaleAfterSoManyIntervals(t *testing.T) {
	schedule, err := regions.NewSchedule([]ingest.Job{
		{Name: "chart", Regions: []ingest.Region{"US", "DE"}, Every: 30 * time.Minute},
		{Name: "weekday", Cron: "0 6 * * 1-5"},
		{Name: "leap", Cron: "0 0 29 2 *"},
	})
	if err != nil {
		t.Fatal(err)
	}
	friday := time.Date(2026, 2, 13, 6, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		what  string
		job   string
		done  time.Time
		age   time.Duration
		after int
		want  bool
	}{
		{"just done", "chart", friday, 0, 3, false},
		{"at the third interval", "chart", friday, 90 * time.Minute, 3, false},
		{"past the third interval", "chart", friday, 90*time.Minute + time.Second, 3, true},
		{"past the first, where one is allowed", "chart", friday, 31 * time.Minute, 1, true},
		{"never done", "chart", time.Time{}, 0, 3, true},
		{"over a weekend that a cron line skips", "weekday", friday, 72 * time.Hour, 1, false},
		{"past the Monday that follows", "weekday", friday, 72*time.Hour + time.Second, 1, true},
		{"not due again for years", "leap", friday, 24 * time.Hour, 1, false},
		{"no such job", "gone", friday, 9000 * time.Hour, 1, false},
	} {
		of := ingest.Series{Job: tt.job, Key: "US"}
		now := tt.done.Add(tt.age)
		if tt.done.IsZero() {
			now = friday
		}
		if got := schedule.Stale(of, tt.done, now, tt.after); got != tt.want {
			t.Errorf("%s: stale %v, want %v", tt.what, got, tt.want)
		}
	}
	if got := len(schedule.Series()); got != 4 {
		t.Errorf("%d series, want 4", got)
	}
}
