package budget_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// notes are a store's notes, its slots' spends, and a refresh's work.
type notes struct {
	text    string
	slots   []ingest.Slot
	old     []int // videos, by day
	unnamed []ingest.Region
}

func (n *notes) Note(context.Context, string) (string, error) { return n.text, nil }
func (n *notes) SetNote(_ context.Context, _, text string) error {
	n.text = text
	return nil
}
func (n *notes) UsedSlots(context.Context, time.Time) ([]ingest.Slot, error) { return n.slots, nil }

func (n *notes) CountToRefresh(context.Context, time.Time, int) ([]int, error) {
	return append(slices.Clone(n.old), make([]int, 6-len(n.old))...), nil
}

func (n *notes) RegionsToName(context.Context, time.Time, time.Time) ([]ingest.Region, error) {
	return n.unnamed, nil
}

type spender []quota.Spent

func (s spender) Spent(context.Context, string, time.Time, time.Duration) ([]quota.Spent, error) {
	return s, nil
}

// midnight is the begin of one of the provider's days; days are counted from it.
var midnight = time.Date(2026, 2, 14, 8, 0, 0, 0, time.UTC)

// seen is one observation of a watch: the provider's day and the time, the amounts used and by whom, and the count
// when the provider said no for the rest of that day; 0: it did not.
type seen struct {
	day, hour            int
	own, others, stopped int64
}

// watched returns a watch over 300 units that has seen all that.
func watched(t *testing.T, s budget.PricedSchedule, all ...seen) budget.OthersWatch {
	t.Helper()
	w := budget.OthersWatch{Notes: &notes{}, Schedule: s, Log: slog.New(slog.DiscardHandler)}
	for _, one := range all {
		begins := midnight.AddDate(0, 0, one.day)
		r := reported(s, begins.Add(time.Duration(one.hour)*time.Hour), one.own, one.others)
		if one.stopped > 0 {
			if i := slices.IndexFunc(r.Pools, func(p quota.PoolReport) bool { return p.Pool == "units" }); i >= 0 {
				r.Pools[i].StoppedAt, r.Pools[i].StoppedUntil = one.stopped, begins.AddDate(0, 0, 1)
			}
		}
		if err := w.Observe(t.Context(), spender(r.Spent), r); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// week is the others' use on each of the days from -5, the day before the same weekday a week ago, to 2.
func week(others ...int64) (all []seen) {
	for i, n := range others {
		all = append(all, seen{day: i - 5, hour: 2, own: 40, others: n})
	}
	return all
}

// A clock that was a month ahead leaves a day in the history; the days after it was set right are noted all the same.
func TestOthersAreNotedAfterAClockThatWasAhead(t *testing.T) {
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	w := watched(t, s, seen{day: 30, hour: 1, own: 4}, seen{day: 0, hour: 10, others: 200}, seen{day: 1, hour: 10, others: 200})
	if said := w.Expect(t.Context(), reported(s, midnight.AddDate(0, 0, 2), 0, 0)).Others; said == "" {
		t.Errorf("others took 200 of 300 units on each of the last 2 days: got %q expected, want their takes", said)
	}
}

// The others' use of the last days is planned for: at 08:00Z, when the provider's day begins, that much less is left.
func TestTheOthersUseIsExpectedAgain(t *testing.T) {
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	known := map[ingest.Series]time.Time{}
	for _, tt := range []struct {
		name   string
		seen   []seen
		hour   int // the hour of day 3 of the question
		budget int64
		said   string
	}{
		{"nobody", []seen{{2, 1, 75, 0, 0}}, 0, 285, ""},
		{"somebody on our ledger", []seen{{2, 1, 0, 0, 0}, {2, 2, 40, 200, 0}}, 0, 85, "others took 200 of 300 units before 11:00Z on the last day: planned for"},
		{"and today they came already", []seen{{2, 2, 40, 200, 0}, {3, 1, 5, 200, 0}}, 1, 85, "others took 200 of 300 units before 11:00Z on the last day: planned for"},
		{"not on the newest day: half", []seen{{1, 2, 40, 200, 0}, {2, 2, 40, 0, 0}}, 0, 185, "others are expected to take 100 of 300 units, less than on earlier days of this week: planned for"},
		{"somebody whom only the provider knows", []seen{{1, 1, 50, 0, 0}, {1, 2, 80, 0, 80}, {2, 2, 80, 0, 80}}, 0, 88,
			"others took 220 of 300 units before 11:00Z on each of the last 2 days (if the provider's limit is 80 now, edit units: under pools in costs.yaml): planned for"},
		{"after a day that used too little to tell: an eighth more", []seen{{1, 2, 80, 0, 80}, {2, 23, 76, 0, 0}}, 0, 98, "others are expected to take 210 of 300 units, less than on earlier days of this week: planned for"},
		{"a day that used more has shown that it was half as much at most", []seen{{1, 2, 80, 0, 80}, {2, 23, 100, 0, 0}}, 0, 198, "others are expected to take 110 of 300 units, less than on earlier days of this week: planned for; " +
			"100 units were counted on the last day without a refusal, above the 80 at the last refusal: if the limit was raised, edit units: under pools in costs.yaml"},
		{"a day above the limit", []seen{{2, 2, 0, 0, 0}, {2, 23, 310, 0, 0}}, 0, 285, "310 units were counted on the last day without a refusal, above the limit of 300: if the limit was raised, edit units: under pools in costs.yaml"},
		{"a single event: half", []seen{{1, 2, 40, 0, 0}, {2, 2, 40, 200, 0}}, 0, 185, "others took 200 of 300 units before 11:00Z on the last day: 100 are planned for"},
		{"on this day of last week", week(0, 200, 0, 0, 0, 0, 0, 0), 0, 85, "others took 200 of 300 units before 11:00Z on this day of last week: planned for"},
		{"on the last day, as a week before, and not on this weekday", week(200, 0, 0, 0, 0, 0, 0, 200), 0, 285, ""},
		{"not yesterday, although they had come a week before", week(200, 200, 200, 200, 200, 200, 200, 0), 0, 185,
			"others are expected to take 100 of 300 units, less than on earlier days of this week: planned for"},
		{"a provider that gives a hundredth", []seen{{1, 2, 3, 0, 3}, {2, 2, 3, 0, 3}}, 0, 4,
			"others took 297 of 300 units before 11:00Z on each of the last 2 days (if the provider's limit is 3 now, edit units: under pools in costs.yaml): planned for"},
		{"a no that did not stand", []seen{{2, 2, 90, 0, 90}, {2, 5, 100, 0, 0}}, 0, 285, ""},
	} {
		w := watched(t, s, tt.seen...)
		now := midnight.AddDate(0, 0, 3).Add(time.Duration(tt.hour)*time.Hour + time.Minute)
		r := reported(s, now, 0, 0)
		if tt.hour > 0 { // they have come today
			r = reported(s, now, 5, 200)
		}
		for i := range r.Pools {
			r.Pools[i].Windows = onlyDay(r.Pools[i].Windows)
		}
		expected := w.Expect(t.Context(), r)
		planned, said := expected.Report, expected.Others
		pace := s.Pace(planned, known, now)
		if len(pace.Jobs) != 1 || pace.Jobs[0].Budget != tt.budget || said != tt.said {
			t.Errorf("%s: %+v, %q, want 1, %v and %v", tt.name, pace.Jobs, said, tt.budget, tt.said)
		}
		f, err := s.Forecast(r, pace, nil, now)
		if bare, _ := s.Forecast(r, budget.PacedSchedule{}, nil, now); err != nil ||
			f.Spare["units"] > tt.budget-f.Scheduled["units"] || f.SetAside["units"] != bare.Spare["units"]-f.Spare["units"] {
			t.Errorf("%s: the forecast has %d to spare of %d, %v", tt.name, f.Spare["units"], tt.budget, err)
		}
	}
}

// Whether the provider gives more than when it last refused is tested by the last slots of the day, which are planned from
// its start: a refusal then costs no other chart, and does not change the pace.
func TestTheProvidersLimitIsTestedByTheDaysLastSlots(t *testing.T) {
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	for _, tt := range []struct {
		name   string
		before []seen
		spent  int64
		want   map[time.Duration]int64 // the rest, that long before midnight
	}{
		{"one slot, with its retries", []seen{{2, 2, 80, 0, 80}}, 0, map[time.Duration]int64{12 * time.Hour: 88, 30 * time.Minute: 88, -10 * time.Second: 0}},
		{"an eighth after the only refusal, perhaps of a single event", []seen{{1, 2, 80, 0, 0}, {2, 2, 80, 0, 80}}, 0, map[time.Duration]int64{12 * time.Hour: 90}},
		{"an eighth, if that is less", []seen{{2, 2, 40, 0, 40}}, 0, map[time.Duration]int64{12 * time.Hour: 45}},
		{"it is left when the rest is used", []seen{{2, 2, 80, 0, 80}}, 80, map[time.Duration]int64{30 * time.Minute: 8}},
		{"nothing, once it has refused today", []seen{{2, 2, 80, 0, 80}, {4, 2, 80, 0, 80}}, 80, map[time.Duration]int64{30 * time.Minute: 0}},
		{"after a trial in vain", []seen{{1, 2, 80, 0, 80}, {2, 23, 80, 0, 80}}, 80, map[time.Duration]int64{15 * time.Minute: 8}},
		{"after two", []seen{{1, 23, 80, 0, 80}, {2, 23, 80, 0, 80}}, 80, map[time.Duration]int64{15 * time.Minute: 0}},
		{"the day after that", []seen{{0, 23, 80, 0, 80}, {1, 23, 80, 0, 80}, {2, 23, 80, 0, 0}}, 80, map[time.Duration]int64{15 * time.Minute: 0}},
		{"three days after", []seen{{-1, 23, 80, 0, 80}, {0, 23, 80, 0, 80}, {1, 23, 80, 0, 0}, {2, 23, 80, 0, 0}}, 80, map[time.Duration]int64{15 * time.Minute: 8}},
	} {
		w := watched(t, s, tt.before...)
		for before, want := range tt.want {
			day := 4
			if len(tt.before) > 1 && tt.before[1].day == 4 {
				day = 5
			}
			planned := w.Expect(t.Context(), reported(s, midnight.AddDate(0, 0, day).Add(-before), tt.spent, 0)).Report
			for _, p := range planned.Pools {
				for _, window := range p.Windows {
					if left := max(0, 285-window.Used); p.Pool == "units" && window.Window.Day() && left != want {
						t.Errorf("%s, %v before midnight: %d are planned with, want %d", tt.name, before, left, want)
					}
				}
			}
		}
	}
}

// The day after an unforeseen refusal shows that others took less again: if it was the only one, the next day is all ours;
// if there were more, half of their takes are expected.
func TestASingleEventIsPlannedForOnce(t *testing.T) {
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	for _, tt := range []struct {
		name   string
		before []seen
		want   int64
	}{
		{"the only refusal", []seen{{0, 23, 200, 0, 0}, {1, 10, 90, 0, 90}, {2, 23, 98, 0, 0}}, 285},
		{"the second one", []seen{{-1, 23, 200, 0, 0}, {0, 10, 90, 0, 90}, {1, 10, 90, 0, 90}, {2, 23, 98, 0, 0}}, 203},
		{"no more was given", []seen{{0, 23, 200, 0, 0}, {1, 10, 290, 0, 290}, {2, 23, 291, 0, 0}}, 285},
	} {
		w := watched(t, s, tt.before...)
		for _, p := range w.Expect(t.Context(), reported(s, midnight.AddDate(0, 0, 3).Add(time.Hour), 0, 0)).Pools {
			for _, window := range p.Windows {
				if left := max(0, 285-window.Used); p.Pool == "units" && window.Window.Day() && left != tt.want {
					t.Errorf("%s: %d are planned with, want %d", tt.name, left, tt.want)
				}
			}
		}
	}
}

// The provider's level is the count at its first refusal of a day: the ledger counts the probes afterwards, and the
// provider does not.
func TestProbesDoNotRaiseTheProvidersLevel(t *testing.T) {
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	w := watched(t, s, seen{1, 23, 40, 0, 40}, seen{2, 10, 80, 0, 80}, seen{2, 14, 90, 0, 90})
	expected := w.Expect(t.Context(), reported(s, midnight.AddDate(0, 0, 3).Add(time.Minute), 0, 0))
	if pace := s.Pace(expected.Report, nil, midnight.AddDate(0, 0, 3).Add(time.Minute)); len(pace.Jobs) != 1 || pace.Jobs[0].Budget != 88 {
		t.Errorf("%+v, want a budget of 80 and a trial of 8", pace.Jobs)
	}
}

// With a limit so small that a twentieth of it is nothing, others are not expected to take nothing.
func TestOthersThatTakeNothingAreNotExpected(t *testing.T) {
	w := watched(t, limited(t, 3, chart(30*time.Minute, 4, regions.Default()...)), seen{2, 1, 2, 0, 0})
	r := reported(limited(t, 3, chart(30*time.Minute, 4, regions.Default()...)), midnight.AddDate(0, 0, 3).Add(time.Minute), 0, 0)
	if said := w.Expect(t.Context(), r).Others; said != "" {
		t.Errorf("%q, want \"\"", said)
	}
}

// Units that charts drew without a page to show for it are waste: calls that failed, pages that another pass fetched
// again, and charts that were never completed. Charts are planned with as much of it as in the last day.
func TestWasteIsCountedAndPlannedFor(t *testing.T) {
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	now := midnight.Add(12 * time.Hour)
	slot := func(key string, state ingest.State, pages int, units int64) ingest.Slot {
		one := ingest.Slot{SlotKey: ingest.SlotKey{Job: "chart", Key: key, DueAt: now.Add(-time.Hour)}, Kind: ingest.KindChart, State: state, Pages: pages}
		one.Charge(map[string]int64{"units": units}, false)
		return one
	}
	for _, tt := range []struct {
		name  string
		slots []ingest.Slot
		want  int64
	}{
		{"whole charts", []ingest.Slot{slot("US", ingest.Done, 4, 4), slot("GB", ingest.Done, 4, 4)}, 0},
		{"a retry, and a chart begun again", []ingest.Slot{slot("US", ingest.Done, 4, 5), slot("GB", ingest.Done, 4, 6)}, 3},
		{"a chart that goes on", []ingest.Slot{slot("US", ingest.Stopped, 2, 2)}, 0},
		{"a chart of which two pages were never followed by the rest", []ingest.Slot{slot("US", ingest.Skipped, 2, 2)}, 2},
	} {
		if got := s.Wasted(tt.slots)["units"]; got != tt.want {
			t.Errorf("%s: %d units wasted, want %d", tt.name, got, tt.want)
		}
		w := budget.OthersWatch{Notes: &notes{slots: tt.slots}, Schedule: s}
		expected := w.Expect(t.Context(), reported(s, now, 20, 0))
		planned, others := expected.Report, expected.Others
		if pace := s.Pace(planned, nil, now).Jobs; len(pace) != 1 || pace[0].Window != "24h" || pace[0].Budget != 285-tt.want || others != "" {
			t.Errorf("%s: %+v, others %q, want a budget of %d", tt.name, pace, others, 285-tt.want)
		}
	}
}

// On each of two days four calls failed: six are planned for, since chance adds two to four on a day in six, however many
// of the last 24 hours have failed already.
func TestAUsualDaysFailedCallsArePlannedFor(t *testing.T) {
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	failed := func(at time.Time, n int64) []ingest.Slot {
		one := ingest.Slot{SlotKey: ingest.SlotKey{Job: "chart", Key: "US", DueAt: at}, Kind: ingest.KindChart, State: ingest.Done, Pages: 4}
		one.Charge(map[string]int64{"units": 4 + n}, false)
		return []ingest.Slot{one}
	}
	stored := &notes{}
	w := budget.OthersWatch{Notes: stored, Schedule: s, Log: slog.New(slog.DiscardHandler)}
	for day := range 2 {
		now := midnight.AddDate(0, 0, day).Add(20 * time.Hour)
		stored.slots = failed(now, 4)
		r := reported(s, now, 200, 0)
		if err := w.Observe(t.Context(), spender(r.Spent), r); err != nil {
			t.Fatal(err)
		}
	}
	now := midnight.AddDate(0, 0, 2).Add(time.Minute)
	for _, n := range []int64{0, 3} {
		stored.slots = failed(now, n)
		r := reported(s, now, 200, 0)
		for i, p := range r.Pools {
			for j, window := range p.Windows {
				if p.Pool == "units" && window.Window.Day() {
					r.Pools[i].Windows[j].Used = 4 + n
				}
			}
		}
		pace := s.Pace(w.Expect(t.Context(), r).Report, nil, now).Jobs
		if want := int64(285 - 6); len(pace) != 1 || pace[0].Window != "24h" || pace[0].Budget != want || pace[0].Most != 8 {
			t.Errorf("after %d failed calls: %+v, want a budget of %d, and eight charts now", n, pace, want)
		}
	}
}

// A no that is doubted is expected to end as the last one did.
func TestADoubtedNoIsExpectedToEndAsTheLastOneDid(t *testing.T) {
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	doubted := func(w budget.OthersWatch, day int) budget.PacedSchedule {
		now := midnight.AddDate(0, 0, day).Add(10 * time.Hour)
		r := reported(s, now, 100, 0)
		for i := range r.Pools {
			if p := &r.Pools[i]; p.Pool == "units" {
				p.StoppedAt, p.StoppedUntil, p.DrainedUntil, p.Probe = 100, now.Add(5*time.Minute), now.Add(5*time.Minute), 1
				p.ResumesAt = map[quota.Purpose]time.Time{quota.Scheduled: now.Add(5 * time.Minute)}
			}
		}
		if err := w.Observe(t.Context(), spender(r.Spent), r); err != nil {
			t.Fatal(err)
		}
		planned := w.Expect(t.Context(), r).Report
		return s.Pace(planned, map[ingest.Series]time.Time{{Job: "chart", Key: "US"}: now.Add(-time.Minute)}, now)
	}
	unknown := doubted(watched(t, s), 3)
	if ends := midnight.AddDate(0, 0, 4); len(unknown.Jobs) != 1 || unknown.Jobs[0].Hold.Before(ends) || unknown.String() != "" {
		t.Errorf("%+v, %q, want a wait until the day ends", unknown.Jobs, unknown)
	}
	lifted := doubted(watched(t, s, seen{2, 2, 90, 0, 90}, seen{2, 5, 100, 0, 0}), 3)
	if soon := midnight.AddDate(0, 0, 3).Add(11 * time.Hour); len(lifted.Jobs) != 1 || lifted.Jobs[0].Hold.After(soon) || lifted.String() != "" {
		t.Errorf("%+v, %q, want a wait until the next call asks", lifted.Jobs, lifted)
	}
	for name, r := range map[string]quota.Report{"doubted": unknown.Report, "not doubted": undoubted(unknown.Report)} {
		want, asks := unknown.Jobs[0].Hold, time.Time{}
		if name == "doubted" { // one call asks before
			want = midnight.AddDate(0, 0, 3).Add(10*time.Hour + 5*time.Minute)
			asks = want
		}
		if f, err := s.Forecast(r, unknown, nil, r.At); err != nil || !f.SureUntil.Equal(asks) || f.Unsure(want) != !asks.IsZero() {
			t.Errorf("%s: sure until %v, %v, want %v", name, f.SureUntil, err, asks)
		}
		for _, p := range unknown.Resume(r).Pools {
			if at := p.ResumesAt[quota.Scheduled]; p.Pool == "units" && !at.Equal(want) {
				t.Errorf("%s: the schedule resumes at %v, want %v", name, at, want)
			}
		}
	}
}

// undoubted returns a report whose refusals stand.
func undoubted(r quota.Report) quota.Report {
	r.Pools = slices.Clone(r.Pools)
	for i := range r.Pools {
		r.Pools[i].Probe = 0
	}
	return r
}

func onlyDay(windows []quota.WindowState) (day []quota.WindowState) {
	for _, w := range windows {
		if w.Window.Day() {
			day = append(day, w)
		}
	}
	return day
}

// Hosts with stores of their own draw for schedules of their own: each paces itself by the rest that the others
// leave. Where it is known how many there are, they begin with equal parts, and a lead is halved every day.
func TestOtherHostsAreOthers(t *testing.T) {
	for _, tt := range []struct {
		name                string
		hosts               int
		mine, all, budgeted int64
	}{
		{"nobody knows how many there are: what this one drew is its part", 1, 35, 285, 35},
		{"this one drew less than others", 3, 35, 285, (35 + 95) / 2},
		{"this one drew more", 3, 155, 285, (155 + 95) / 2},
		{"nobody has drawn yet", 3, 0, 0, 95},
	} {
		s, stored := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...)), &notes{}
		s.Hosts = tt.hosts
		w := budget.OthersWatch{Notes: stored, Schedule: s, Shared: true}
		var r quota.Report
		for day := range 3 {
			now := midnight.AddDate(0, 0, day).Add(12 * time.Hour)
			slot := ingest.Slot{SlotKey: ingest.SlotKey{Job: "chart", Key: "US", DueAt: now.Add(-time.Hour)}, Kind: ingest.KindChart, Pages: int(tt.mine)}
			slot.Charge(map[string]int64{"units": tt.mine}, false)
			stored.slots, r = []ingest.Slot{slot}, reported(s, now, tt.all, 0)
			if err := w.Observe(t.Context(), spender(r.Spent), r); err != nil {
				t.Fatal(err)
			}
			if tt.all == 0 {
				break
			}
		}
		planned := w.Expect(t.Context(), r).Report
		if pace := s.Pace(planned, nil, r.At); len(pace.Jobs) != 1 || pace.Jobs[0].Budget != tt.budgeted {
			t.Errorf("%s: %+v, want a budget of %d", tt.name, pace.Jobs, tt.budgeted)
		}
	}
}
