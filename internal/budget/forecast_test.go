package budget_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// windows returns a report of the pool units with these windows, whose limits let the schedule use 95.
func windows(now time.Time, states ...quota.WindowState) quota.Report {
	for i := range states {
		states[i].Window.Limit = 100
	}
	return quota.Report{At: now, Pools: []quota.PoolReport{{Pool: "units", Windows: states}}}
}

// Four charts of 4 units come due before the provider's day ends at 08:00Z, on the hour. The sliding window has less left
// than they need, and says when more comes back.
func TestTheForecastCountsReturningUnits(t *testing.T) {
	s := schedule(t, chart(time.Hour, 4, "US"))
	now := time.Date(2026, 2, 15, 4, 10, 0, 0, time.UTC)
	at := func(hour, minute int) time.Time { return time.Date(2026, 2, 15, hour, minute, 0, 0, time.UTC) }
	sliding := func(used int64, returns ...quota.Return) quota.WindowState {
		return quota.WindowState{Window: quota.Window{Name: "24h", Length: 24 * time.Hour}, Used: used, Returns: returns}
	}
	spent := func(used int64) quota.WindowState {
		return quota.WindowState{Window: quota.Window{Name: "day"}, Used: used, FreesAt: at(8, 0), Returns: []quota.Return{{At: at(8, 0), Amount: used}}}
	}
	for _, tt := range []struct {
		name       string
		windows    []quota.WindowState
		fits       bool
		state      budget.Lasting
		out, back  time.Time
		firstUnfit int // -1: all slots fit
	}{
		{"plenty", []quota.WindowState{sliding(10)}, true, budget.Lasts, time.Time{}, time.Time{}, -1},
		{"enough comes back before each", []quota.WindowState{sliding(90, quota.Return{At: at(4, 30), Amount: 40})}, true, budget.Lasts, time.Time{}, time.Time{}, -1},
		{"a few minutes late", []quota.WindowState{sliding(93, quota.Return{At: at(5, 10), Amount: 40})}, true, budget.Lasts, time.Time{}, time.Time{}, -1},
		{"too late for the first", []quota.WindowState{sliding(93, quota.Return{At: at(5, 30), Amount: 40})}, false, budget.RunsOut, at(5, 0), at(5, 30), 0},
		{"enough for one, and for the others too late", []quota.WindowState{sliding(91, quota.Return{At: at(7, 30), Amount: 40})}, false, budget.RunsOut, at(6, 0), at(7, 30), 1},
		{"the day has too little, whatever the window gives back", []quota.WindowState{sliding(91, quota.Return{At: at(4, 30), Amount: 40}), spent(91)}, false, budget.RunsOut, at(6, 0), at(8, 0), 1},
	} {
		r := windows(now, tt.windows...)
		pace := s.Held(r, now)
		f, err := s.Forecast(r, pace, nil, now)
		if err != nil {
			t.Fatal(err)
		}
		next, err := s.NextAt(pace, done(s, now), now, f.Until.Add(-time.Second))
		if err != nil || len(next) != 3 {
			t.Fatalf("%v, %v, want 3 of them", next, err)
		}
		s.Foresee(&f, pace, next, now)
		if f.Fits != tt.fits || f.State != tt.state || !f.RunsOutAt.Equal(tt.out) || !f.BackAt.Equal(tt.back) {
			t.Errorf("%s: %+v, want %+v", tt.name, f, tt)
		}
		if !f.BackAt.IsZero() && !f.BackAt.After(f.RunsOutAt) {
			t.Errorf("%s: units come back at %v, before they run out at %v", tt.name, f.BackAt, f.RunsOutAt)
		}
		for i, slot := range next {
			if tt.firstUnfit == i && slot.Fits || (tt.firstUnfit < 0 || i < tt.firstUnfit) && !slot.Fits {
				t.Errorf("%s: slot %d fits: %v", tt.name, i, slot.Fits)
			}
		}
	}
}

// done returns that every series was fetched at a time.
func done(s budget.PricedSchedule, at time.Time) ingest.Latest {
	l := ingest.Latest{Done: map[ingest.Series]ingest.Slot{}}
	for _, series := range s.Jobs.Series() {
		l.Done[series] = ingest.Slot{SlotKey: ingest.SlotKey{Job: series.Job, Key: series.Key, DueAt: at}, State: ingest.Done}
	}
	return l
}

// When the day's units are used, a job whose next turn comes with the new day waits for nothing.
func TestTheLastTurnOfADayIsNotAWait(t *testing.T) {
	now := time.Date(2026, 2, 15, 7, 50, 0, 0, time.UTC) // ten minutes before midnight
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	for _, tt := range []struct {
		ago   time.Duration // the newest chart
		state budget.Lasting
	}{{10 * time.Minute, budget.Slower}, {time.Hour, budget.UsedUp}} {
		r := reported(s, now, 285, 0)
		for i, p := range r.Pools {
			r.Pools[i].Windows = onlyDay(p.Windows)
		}
		l := done(s, now.Add(-tt.ago))
		pace := s.Pace(r, l.Known(), now)
		f, err := s.Forecast(r, pace, pace.Schedule.Waiting(l, now), now)
		if err != nil {
			t.Fatal(err)
		}
		next, err := s.NextAt(pace, l, now, f.Until)
		s.Foresee(&f, pace, next, now)
		if waiting := pace.Schedule.Waiting(l, now); err != nil || f.State != tt.state || (len(waiting) > 0) != (tt.state == budget.UsedUp) {
			t.Errorf("the newest chart is %v old: %s, %d series wait, %v", tt.ago, f.State, len(waiting), err)
		}
	}
}

// A schedule that costs more than there is has slots that fit at its pace, though at this moment nothing is left of a
// sliding window; only a wait that is longer than a turn is named.
func TestAPacedScheduleLastsAtItsPace(t *testing.T) {
	now := time.Date(2026, 2, 14, 20, 0, 0, 0, time.UTC)
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	for _, tt := range []struct {
		free  time.Duration
		state budget.Lasting
	}{{10 * time.Minute, budget.Slower}, {3 * time.Hour, budget.UsedUp}} {
		r := reported(s, now, 285, 0)
		for i, p := range r.Pools {
			for j, w := range p.Windows {
				if w.Window.Day() {
					r.Pools[i].Windows[j].Used = 130
				} else {
					r.Pools[i].Windows[j].FreesAt = now.Add(tt.free)
				}
			}
		}
		l := done(s, now.Add(-5*time.Minute))
		pace := s.Pace(r, l.Known(), now)
		f, err := s.Forecast(r, pace, pace.Schedule.Waiting(l, now), now)
		if err != nil {
			t.Fatal(err)
		}
		next, err := s.NextAt(pace, l, now, f.Until)
		s.Foresee(&f, pace, next, now)
		if err != nil || f.State != tt.state || f.Fits || len(next) == 0 || tt.state == budget.UsedUp && f.BackAt.Before(now.Add(tt.free)) {
			t.Errorf("free in %v: %+v, %v", tt.free, f, err)
		}
		for _, slot := range next {
			if !slot.Fits || slot.DueAt.Before(now.Add(tt.free)) {
				t.Errorf("free in %v: %+v", tt.free, slot)
			}
		}
	}
}

// A doubted no closes a pool for minutes, on a day that has nothing else left: the forecast names the time when
// charts go on, as the schedule does, not the time of the call that asks again.
func TestUnitsComeBackWhenChartsGoOn(t *testing.T) {
	now := midnight.Add(10 * time.Hour)
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	r := reported(s, now, 100, 185)
	for i := range r.Pools {
		r.Pools[i].Windows = onlyDay(r.Pools[i].Windows)
		r.Pools[i].DrainedUntil = now.Add(37 * time.Minute)
	}
	l := done(s, now.Add(-50*time.Minute))
	pace := s.Pace(r, l.Known(), now)
	f, err := s.Forecast(r, pace, pace.Schedule.Waiting(l, now), now)
	s.Foresee(&f, pace, nil, now)
	if next := pace.Schedule.Next(now); err != nil || f.State != budget.UsedUp || !f.BackAt.Equal(next) {
		t.Errorf("units come back at %v, and the next chart at %v: %s, %v", f.BackAt, next, f.State, err)
	}
}
