package budget_test

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// Nothing is planned for hours when nothing ran on three whole days in a row: a laptop that sleeps nine hours a day
// fetches more often in the other fifteen.
func TestIdleHoursAreNotPlannedFor(t *testing.T) {
	onMachineIn(t, time.UTC)
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...), refresh())
	always := func(int) bool { return true }
	awake := func(hour int) bool { return hour < 15 }
	for _, tt := range []struct {
		name string
		days []func(hour int) bool // the hours of activity, day by day, the first one seen in part only
		want string
	}{
		{"asleep for nine hours", []func(int) bool{awake, awake, awake, awake},
			"chart every 1 h 54 m instead of 30 m: 285 units in 24h, no run expected from 23:00Z to 08:00Z"}, // eight are overdue then
		{"known for two whole days only", []func(int) bool{awake, awake, awake}, "chart every 2 h 45 m instead of 30 m: 285 units in 24h"},
		{"one night awake", []func(int) bool{awake, awake, always, awake}, "chart every 2 h 45 m instead of 30 m: 285 units in 24h"},
		{"a timer that fires every three hours", []func(int) bool{every(3), every(3), every(3), every(3)}, "chart every 2 h 45 m instead of 30 m: 285 units in 24h"},
	} {
		w := budget.OthersWatch{Notes: &notes{}, Schedule: s, Log: slog.New(slog.DiscardHandler)}
		for day, ran := range tt.days {
			for hour := range 24 {
				if ran(hour) {
					at := midnight.AddDate(0, 0, day).Add(time.Duration(hour)*time.Hour + 10*time.Minute)
					if err := w.Observe(t.Context(), spender(nil), reported(s, at, 0, 0)); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		r := reported(s, midnight.AddDate(0, 0, len(tt.days)).Add(time.Second), 0, 0) // the ledger's day ends 29 s later
		expected := w.Expect(t.Context(), r)
		priced := s
		priced.Idle = expected.Idle
		if got := priced.Pace(expected.Report, nil, r.At).String(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A machine wakes at the provider's midnight: the eight charts that are due then can wait for its grace to pass, so that
// they cost nothing of the day that ends.
func TestWakingAtMidnightCostsTheNextDay(t *testing.T) {
	onMachineIn(t, time.UTC)
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	s.Idle = 1<<8 - 1 // until 08:00
	now := midnight.Add(2 * time.Hour)
	r := reported(s, now, 0, 0)
	for i, p := range r.Pools {
		day := &r.Pools[i].Windows[slices.IndexFunc(p.Windows, func(w quota.WindowState) bool { return w.Window.Day() })]
		day.Used, day.FreesAt = 150, day.FreesAt.Add(s.Tariff.Grace)
	}
	jobs := s.Pace(r, map[ingest.Series]time.Time{{Job: "chart", Key: "US"}: now}, now).Jobs
	// 135 are left, four of them for retries: 32 charts in 14 hours
	if want := 14 * time.Hour / 33; len(jobs) != 1 || jobs[0].Gap.Round(time.Minute) != want.Round(time.Minute) {
		t.Errorf("%+v, want a chart every %v", jobs, want)
	}
}

// onMachineIn sets the machine's zone until the test ends.
func onMachineIn(t *testing.T, zone *time.Location) {
	machine := time.Local
	time.Local = zone
	t.Cleanup(func() { time.Local = machine })
}

// every is true in each n-th hour.
func every(n int) func(int) bool { return func(hour int) bool { return hour%n == 0 } }

// A laptop sleeps by its own zone's hours: the provider's change to summer time does not move them.
func TestIdleHoursAreTheMachinesOwn(t *testing.T) {
	for _, zone := range []*time.Location{time.UTC, time.FixedZone("UTC+9", 9*60*60)} {
		t.Run(zone.String(), func(t *testing.T) {
			onMachineIn(t, zone)
			s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...), refresh())
			w := budget.OthersWatch{Notes: &notes{}, Schedule: s, Log: slog.New(slog.DiscardHandler)}
			from := time.Date(2026, 3, 4, 7, 10, 0, 0, zone) // summer time begins at the provider on 8 March
			for at := from; at.Before(from.AddDate(0, 0, 5)); at = at.Add(time.Hour) {
				if at.Hour() < 7 || at.Hour() > 21 {
					continue
				}
				if err := w.Observe(t.Context(), spender(nil), reported(s, at, 0, 0)); err != nil {
					t.Fatal(err)
				}
			}
			now := from.AddDate(0, 0, 5)
			expected := w.Expect(t.Context(), reported(s, now, 0, 0))
			jobs := s.With(expected).Pace(expected.Report, nil, now).Jobs
			sleeps, wakes := time.Date(2026, 3, 9, 22, 0, 0, 0, zone), time.Date(2026, 3, 10, 7, 0, 0, 0, zone)
			if len(jobs) != 1 || !jobs[0].Sleeps.Equal(sleeps) || !jobs[0].Wakes.Equal(wakes) {
				t.Errorf("%+v, want no run from %s to %s", jobs, sleeps, wakes)
			}
		})
	}
}
