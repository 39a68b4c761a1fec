package budget_test

import (
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// A plan that rests on refusals is sure until the earliest of their hours, or until today's charts reach one of their
// counts: others may take as much by then. The last slots of a day test the provider's limit. A refusal that was lifted
// may come again at its hour. When clocks change, that hour is the earlier one.
func TestAPlanThatRestsOnOneRefusalIsSureUntilItsHour(t *testing.T) {
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	for _, tt := range []struct {
		name string
		seen []seen
		hour int // -1: sure all day
	}{
		{"no refusal", []seen{{2, 23, 200, 0, 0}}, -1},
		{"one in the tenth hour", []seen{{2, 10, 120, 0, 120}}, 10},
		{"a lower one a day later", []seen{{1, 10, 120, 0, 120}, {2, 13, 90, 0, 90}}, 10},
		{"and one of the last slots", []seen{{1, 13, 90, 0, 90}, {2, 23, 90, 0, 90}}, 13},
		{"two of the last slots", []seen{{1, 23, 90, 0, 90}, {2, 23, 90, 0, 90}}, 23},
		{"a day that used more than others were expected to leave", []seen{{1, 10, 120, 0, 120}, {2, 23, 290, 0, 0}}, 9},
		{"a later hour on the newest day", []seen{{1, 10, 120, 0, 120}, {2, 20, 160, 0, 160}}, 10},
		{"others at irregular hours: the least of their counts is planned with", []seen{{0, 15, 120, 0, 120}, {1, 12, 100, 0, 100}, {2, 23, 295, 0, 0}}, 12},
		{"a whole day since two refusals", []seen{{0, 10, 120, 0, 120}, {1, 10, 120, 0, 120}, {2, 23, 300, 0, 0}}, 9},
		{"a day of 25 hours", []seen{{260, 10, 120, 0, 120}}, 10},
		{"a day of 23 hours", []seen{{22, 10, 120, 0, 120}}, 9},
	} {
		w := watched(t, s, tt.seen...)
		begins := midnight.AddDate(0, 0, tt.seen[len(tt.seen)-1].day+1)
		want := time.Time{}
		if tt.hour >= 0 {
			want = begins.Add(time.Duration(tt.hour) * time.Hour)
		}
		if got := w.Expect(t.Context(), reported(s, begins.Add(time.Minute), 0, 0)).SureUntil; !got.Equal(want) {
			t.Errorf("%s: sure until %v, want %v", tt.name, got, want)
		}
	}
}

// Another tool takes 0 to 300 of 300 units a day, 150 on average, at random times, so no day is like another. The time that
// the plan is sure until is before the provider's refusal, in 95 % of the hours whose plan says so.
func TestAPlanBesideOthersAtRandomIsSureForAsLongAsItSays(t *testing.T) {
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	said, came, drew, free := 0, 0, int64(0), int64(0)
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := budget.OthersWatch{Notes: &notes{}, Schedule: s, Log: slog.New(slog.DiscardHandler)}
		for n := range 14 {
			begins := midnight.AddDate(0, 0, n)
			expected := w.Expect(t.Context(), reported(s, begins.Add(time.Minute), 0, 0))
			used, others, stop := dayBeside(random, leftToday(expected.Report))
			r := reported(s, begins.Add(min(stop, 24*time.Hour-time.Minute)), used, 0)
			if stop < 24*time.Hour {
				i := slices.IndexFunc(r.Pools, func(p quota.PoolReport) bool { return p.Pool == "units" })
				r.Pools[i].StoppedAt, r.Pools[i].StoppedUntil = used, begins.AddDate(0, 0, 1)
			}
			if err := w.Observe(t.Context(), spender(r.Spent), r); err != nil {
				t.Fatal(err)
			}
			if n == 0 { // nothing told of others
				continue
			}
			drew, free = drew+used, free+300-others
			sure := expected.SureUntil.Sub(begins)
			if expected.SureUntil.IsZero() {
				sure = 24 * time.Hour
			}
			for at := time.Hour; at < min(sure, stop); at += time.Hour {
				if said++; sure <= stop {
					came++
				}
			}
		}
	}
	t.Logf("true in %d of %d hours; %.2f of the units that others leave are used", came, said, float64(drew)/float64(free))
	if came*100 < said*95 || drew*10 < free*9 {
		t.Errorf("true in %d of %d hours, want 95 %%; %d of %d units used that others leave, want 90 %%", came, said, drew, free)
	}
}

// leftToday returns the units that a report has left for charts in the provider's day.
func leftToday(r quota.Report) (left int64) {
	for _, p := range r.Pools {
		for _, w := range p.Windows {
			if p.Pool == "units" && w.Window.Day() {
				left = 285 - w.Used
			}
		}
	}
	return left
}

// dayBeside spreads charts of four units over a day beside another tool's takes, of ten units each. It returns both
// amounts, and when the provider refused a chart; 24 h if it did not.
func dayBeside(random *rand.Rand, left int64) (used, others int64, stop time.Duration) {
	var takes []time.Duration
	for range 30 {
		if at := time.Duration(random.Int64N(int64(24 * time.Hour))); random.IntN(2) == 0 {
			takes = append(takes, at)
		}
	}
	gap := 24 * time.Hour / time.Duration(left/4+1)
	for at := time.Duration(0); at < 24*time.Hour; at += gap {
		took := int64(0)
		for _, take := range takes {
			if take <= at {
				took += 10
			}
		}
		if used+took+4 > 300 {
			return used, int64(len(takes)) * 10, at
		}
		used += 4
	}
	return used, int64(len(takes)) * 10, 24 * time.Hour
}
