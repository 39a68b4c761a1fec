package budget_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// pastSlots is a store that has these slots of every job, newest first.
type pastSlots []ingest.Slot

func (p pastSlots) NewestDone(_ context.Context, job string, n int) ([]ingest.Slot, error) {
	var done []ingest.Slot
	for _, s := range p {
		if s.Job == job && s.State == ingest.Done && len(done) < n {
			done = append(done, s)
		}
	}
	return done, nil
}

func (p pastSlots) DueSince(_ context.Context, job string, since time.Time) ([]ingest.Slot, error) {
	var slots []ingest.Slot
	for _, s := range p {
		if s.Job == job && !s.DueAt.Before(since) {
			slots = append(slots, s)
		}
	}
	return slots, nil
}

func past(job, key string, due time.Time, state ingest.State, units int64) ingest.Slot {
	return ingest.Slot{SlotKey: ingest.SlotKey{Job: job, Key: key, DueAt: due}, State: state, Units: units, Pages: int(units)}
}

// The reserve is for the slots still to come before the provider's midnight and the unfinished ones, at their recent
// cost, and for the retries of one: a chart of three pages does not cost the four that were planned.
func TestTheReserveIsTheSchedulesRemainingNeed(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2026, 2, 14, hour, minute, 0, 0, time.UTC) }
	hourly := chart(time.Hour, 4, "US", "GB") // US on the hour, GB at half past; the provider's day turns at 08:00
	fetched := pastSlots{past("chart", "US", at(5, 0), ingest.Done, 1), past("chart", "GB", at(4, 30), ingest.Done, 1)}
	for _, tt := range []struct {
		name string
		jobs []ingest.Job
		past pastSlots
		now  time.Time
		want quota.Cost
	}{
		{"two are due and five to come, at the planned price", []ingest.Job{hourly}, nil, at(5, 10), quota.Cost{"units": 4*(2+5) + 4}},
		{"five to come that recently cost 1", []ingest.Job{hourly}, fetched, at(5, 11), quota.Cost{"units": 5 + 4}},
		{"the two newest, which no run fetched: the next is of the next day", []ingest.Job{hourly}, fetched, at(7, 59), quota.Cost{"units": 2 + 4}},
		{"a whole day", []ingest.Job{hourly}, fetched, at(8, 0).Add(time.Second), quota.Cost{"units": 2 + 48 - 1 + 4}},
		{"one that was stopped may go on", []ingest.Job{hourly}, append(pastSlots{past("chart", "GB", at(5, 30), ingest.Stopped, 1)}, fetched...), at(5, 31), quota.Cost{"units": 1 + 4 + 4}},
		{"one that failed will not", []ingest.Job{hourly}, append(pastSlots{past("chart", "GB", at(5, 30), ingest.Failed, 1)}, fetched...), at(5, 31), quota.Cost{"units": 4 + 4}},
		{"a sum is rounded up: four slots cost 16/3", []ingest.Job{hourly}, append(pastSlots{past("chart", "GB", at(5, 30), ingest.Done, 2)}, fetched...), at(5, 31), quota.Cost{"units": 6 + 4}},
		{"a search draws on two pools", []ingest.Job{search(time.Hour, 1)}, pastSlots{past("search", "", at(5, 0), ingest.Done, 101)}, at(5, 10), quota.Cost{"units": 300, "search": 3}},
		{"a refresh needs nothing", []ingest.Job{refresh()}, nil, at(5, 10), quota.Cost{}},
	} {
		r, err := schedule(t, tt.jobs...).Reserve(t.Context(), tt.past, tt.now)
		if err != nil || !maps.Equal(r.Today, tt.want) {
			t.Errorf("%s: %v, %v, want %v", tt.name, r.Today, err, tt.want)
		}
		if turn := r.Until.Sub(tt.now); r.Until.Hour() != 8 || turn <= 0 || turn > 24*time.Hour {
			t.Errorf("%s: until %v", tt.name, r.Until)
		}
	}
}

// Failed calls cost as much as lately, and come by chance: a reserve has room for twice the square root of as many. A
// search that took more calls than it has pages is not a failure.
func TestTheReserveHasRoomForFailedCalls(t *testing.T) {
	now := time.Date(2026, 2, 14, 5, 11, 0, 0, time.UTC) // five charts to come of US on the hour and GB at half past
	charts := func(units ...int64) (all pastSlots) {
		for i := range 16 {
			slot := past("chart", []string{"US", "GB"}[i%2], now.Add(-11*time.Minute-time.Duration(i)*30*time.Minute), ingest.Done, 4)
			slot.Units += units[i%len(units)]
			all = append(all, slot)
		}
		return all
	}
	searched := past("search", "", now.Add(-11*time.Minute), ingest.Done, 200)
	searched.Pages = 1
	for _, tt := range []struct {
		name string
		job  ingest.Job
		past pastSlots
		want quota.Cost
	}{
		{"none failed", chart(time.Hour, 4, "US", "GB"), charts(0), quota.Cost{"units": 5*4 + 4}},
		{"a call of every fourth chart: 1.25 of five, and 2 x 1.12", chart(time.Hour, 4, "US", "GB"), charts(0, 0, 0, 1), quota.Cost{"units": 24 + 4}},
		{"as many, of every sixteenth", chart(time.Hour, 4, "US", "GB"), charts(4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), quota.Cost{"units": 24 + 4}},
		{"a call of every chart: 5 of five, and 2 x 2.24", chart(time.Hour, 4, "US", "GB"), charts(1), quota.Cost{"units": 30 + 4}},
		{"a search of two calls", search(time.Hour, 1), pastSlots{searched}, quota.Cost{"units": 400, "search": 4}},
	} {
		if r, err := schedule(t, tt.job).Reserve(t.Context(), tt.past, now); err != nil || !maps.Equal(r.Today, tt.want) {
			t.Errorf("%s: %v, %v, want %v", tt.name, r.Today, err, tt.want)
		}
	}
}

// A backfill that takes all that the reserve leaves it, at any hour, leaves a day that fits: the alert does not ring.
func TestABackfillLeavesADayThatFits(t *testing.T) {
	s := limited(t, 1_900, chart(30*time.Minute, 4, regions.Default()...))
	for i, p := range s.Tariff.Pools {
		s.Tariff.Pools[i].Windows = slices.DeleteFunc(p.Windows, func(w quota.Window) bool { return !w.Day() })
	}
	known := map[ingest.Series]time.Time{}
	for hour := range 23 {
		now := time.Date(2026, 2, 14, 8+hour, 1, 0, 0, time.UTC)
		for _, slot := range s.Jobs[0].Latest(now) {
			known[slot.Series()] = slot.DueAt
		}
		own := int64(64*hour + 4)
		r := reported(s, now, own, 0)
		units := slices.IndexFunc(r.Pools, func(p quota.PoolReport) bool { return p.Pool == "units" })
		reserve, err := s.Reserve(t.Context(), pastSlots{}, now)
		if err != nil {
			t.Fatal(err)
		}
		reserve.Used = map[string]map[string]int64{"units": {"day": own}}
		reserve.Today["units"] -= 4 * 8 // the newest slots are done
		r = reported(s, now, own, s.Tariff.Left("units", r.Pools[units].Windows, quota.Backfill, reserve))
		pace := s.Pace(r, known, now)
		if f, err := s.Forecast(r, pace, nil, now); err != nil || !f.Fits {
			t.Errorf("%s: %d to spare, %q, %v", now.Format("15:04"), f.Spare["units"], f.Pacing, err)
		}
	}
}

// Late slots of the schedule leave the sliding window as late: the slots that come a day later find room all the
// same.
func TestTheReserveOfASlidingWindowHasRoomForWhatWasLate(t *testing.T) {
	now := time.Date(2026, 2, 14, 9, 1, 0, 0, time.UTC)
	r, err := schedule(t, chart(30*time.Minute, 1, regions.Default()...)).Reserve(t.Context(), pastSlots{}, now)
	const a, late = 8 * 48, 15 * 8 / 30 // slots a day, and in the quarter of an hour that one may be late; a retry needs no room
	if got := r.Whole["units"]["24h"]; err != nil || got < a+late || got > a+late+1 {
		t.Errorf("%d units are reserved in any 24 h, %v, want %d", got, err, a+late)
	}
}

func TestAReserveIsComputedOnceAMinuteAndWhenTheDayTurns(t *testing.T) {
	now := time.Date(2026, 2, 14, 7, 58, 0, 0, time.UTC)
	turns := time.Date(2026, 2, 14, 8, 0, 0, 0, time.UTC)
	computed, broken := 0, error(nil)
	r := &budget.ReserveCache{Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler), Compute: func(context.Context) (quota.Reserve, error) {
		computed++
		until := turns
		if !now.Before(turns) {
			until = turns.Add(24 * time.Hour)
		}
		return quota.Reserve{Until: until, Today: quota.Cost{"units": int64(computed)}}, broken
	}}
	for _, step := range []struct {
		name  string
		at    time.Time
		fails error
		want  int64
	}{
		{"the first", now, nil, 1},
		{"again at once", now, nil, 1},
		{"half a minute later", now.Add(30 * time.Second), nil, 1},
		{"a minute later", now.Add(time.Minute), nil, 2},
		{"the clock went back", now.Add(30 * time.Second), nil, 3},
		{"the day has turned", turns, nil, 4},
		{"it cannot be computed: the last one holds", turns.Add(2 * time.Minute), errors.New("no store"), 4},
	} {
		now, broken = step.at, step.fails
		if got := r.Reserve(t.Context()); got.Today["units"] != step.want {
			t.Errorf("%s: %v, want %d", step.name, got, step.want)
		}
	}
	if err := r.Update(t.Context()); !errors.Is(err, broken) {
		t.Errorf("a backfill that cannot know it begins: %v", err)
	}
}
