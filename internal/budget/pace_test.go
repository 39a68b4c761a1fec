package budget_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// limited returns the schedule under the given number of units a day.
func limited(t testing.TB, units int64, jobs ...ingest.Job) budget.PricedSchedule {
	t.Helper()
	return limitedBy(t, "classic", units, jobs...)
}

func limitedBy(t testing.TB, table string, units int64, jobs ...ingest.Job) budget.PricedSchedule {
	t.Helper()
	s := schedule(t, jobs...)
	s.Tariff = tariff(t, table)
	for i, p := range s.Tariff.Pools {
		for j := range p.Windows {
			if p.Name == "units" {
				s.Tariff.Pools[i].Windows[j].Limit = units
			}
		}
	}
	return s
}

// reported returns a report that shows the given use by the schedule and others of the units, in the day, which ends
// at 08:00 UTC, and in 24 h.
func reported(s budget.PricedSchedule, now time.Time, own, others int64) quota.Report {
	r := quota.Report{At: now, Spent: []quota.Spent{
		{Pool: "units", Who: quota.Who{Purpose: quota.Scheduled}, Amount: own},
		{Pool: "units", Who: quota.Who{Purpose: quota.Manual}, Amount: others},
	}}
	for _, p := range s.Tariff.Pools {
		report := quota.PoolReport{Pool: p.Name, Remaining: map[quota.Purpose]int64{}}
		for _, w := range p.Windows {
			state := quota.WindowState{Window: w, FreesAt: now.Add(time.Hour)}
			if p.Name == "units" {
				state.Used = own + others
			}
			if w.Day() {
				state.FreesAt = now.Add(-8 * time.Hour).Truncate(24 * time.Hour).Add(32 * time.Hour)
			}
			report.Windows = append(report.Windows, state)
		}
		r.Pools = append(r.Pools, report)
	}
	return r
}

// The provider's day begins at 08:00 UTC.
func TestAScheduleThatCostsMoreThanThereIsIsSpread(t *testing.T) {
	dawn := time.Date(2026, 2, 14, 8, 0, 0, 0, time.UTC)
	usual := chart(30*time.Minute, 4, regions.Default()...)
	for _, tt := range []struct {
		name        string
		units       int64
		jobs        []ingest.Job
		own, others int64
		now         time.Time
		want        string // "" if nothing is paced
		pages       int
	}{
		{"it fits", 10_000, []ingest.Job{usual}, 0, 0, dawn, "", 0},
		{"it fits beside what others use", 10_000, []ingest.Job{usual}, 1_500, 6_400, dawn.Add(23 * time.Hour), "", 0},
		{"300 units", 300, []ingest.Job{usual}, 0, 0, dawn, "chart every 2 h 45 m instead of 30 m: 285 units in 24h", 4},
		{"300 units of which others use half", 300, []ingest.Job{usual}, 0, 150, dawn, "chart every 6 h instead of 30 m: 135 units in 24h", 4},
		{"40 units: whole charts would come every 21 h", 40, []ingest.Job{usual}, 0, 0, dawn, "chart every 10 h 40 m instead of 30 m: 38 units in 24h, 2 of 4 pages", 2},
		{"4 units: a page a region in two days and more", 4, []ingest.Job{usual}, 0, 0, dawn, "chart every 64 h 1 m instead of 30 m: 3 units in 24h, 1 of 4 pages", 1},
		{"a day half spent in an hour: the rest is spread over the rest", 3_000, []ingest.Job{usual}, 2_550, 0, dawn.Add(time.Hour), "chart every 2 h 27 m instead of 30 m: 300 units left in the day that ends 08:00Z", 4},
		{"others have spent what it had: a wait for the day's end is no interval", 10_000, []ingest.Job{usual}, 192, 9_380, dawn.Add(12 * time.Hour), "", 4},
		{"others have spent all: it waits, at no pace", 10_000, []ingest.Job{usual}, 192, 9_500, dawn.Add(12 * time.Hour), "", 1},
		{"the cron line's price is set aside", 300, []ingest.Job{usual, {Name: "six", Kind: ingest.KindChart, Regions: regions.Default(), Cron: "0 6 * * *", Pages: 4}}, 0, 0, dawn,
			"chart every 3 h 6 m instead of 30 m: 285 units in 24h", 4},
		{"two jobs share alike", 300, []ingest.Job{usual, {Name: "music", Kind: ingest.KindChart, Regions: regions.Default(), Every: 30 * time.Minute, Pages: 4}}, 0, 0, dawn,
			"chart every 5 h 29 m instead of 30 m: 285 units in 24h; music every 5 h 29 m instead of 30 m: 285 units in 24h", 4},
	} {
		s := limited(t, tt.units, tt.jobs...)
		known := map[ingest.Series]time.Time{}
		for _, of := range s.Jobs.Series() {
			known[of] = tt.now
		}
		got := s.Pace(reported(s, tt.now, tt.own, tt.others), known, tt.now)
		if got.String() != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if tt.want != "" && len(got.Jobs) > 0 && got.Jobs[0].Pages != tt.pages {
			t.Errorf("%s: %d pages, want %d", tt.name, got.Jobs[0].Pages, tt.pages)
		}
	}
}

// Who asks for little keeps it whole: 7 regions every 6 h cost 112 of 285 units, and the rest pays for one region
// every 33 minutes.
func TestTheModestKeepTheirIntervalAndTheOthersAreStretchedAlike(t *testing.T) {
	dawn := time.Date(2026, 2, 14, 8, 0, 0, 0, time.UTC)
	job := func(name string, every time.Duration, pages int, in ...ingest.Region) ingest.Job {
		return ingest.Job{Name: name, Kind: ingest.KindChart, Regions: in, Every: every, Pages: pages}
	}
	six := regions.Default()[1:]
	for _, tt := range []struct {
		name  string
		units int64
		jobs  []ingest.Job
		want  string
	}{
		{"one greedy region beside seven modest ones", 300, []ingest.Job{job("often", 10*time.Minute, 4, "US"), job("rare", 6*time.Hour, 4, six...)}, "often every 34 m instead of 10 m: 285 units in 24h"},
		{"their order does not matter", 300, []ingest.Job{job("rare", 6*time.Hour, 4, six...), job("often", 10*time.Minute, 4, "US")}, "often every 34 m instead of 10 m: 285 units in 24h"},
		{"two that ask for more than there is have one interval", 300, []ingest.Job{job("a", 10*time.Minute, 4, "US"), job("b", time.Hour, 4, six...)},
			"a every 2 h 45 m instead of 10 m: 285 units in 24h; b every 2 h 45 m instead of 1 h: 285 units in 24h"},
		{"who asks for a chart a day keeps it, with all its pages", 44, []ingest.Job{job("often", 10*time.Minute, 4, "US"), job("daily", 24*time.Hour, 4, six...)},
			"often every 12 h instead of 10 m: 41 units in 24h"},
	} {
		s := limited(t, tt.units, tt.jobs...)
		known := map[ingest.Series]time.Time{}
		for _, series := range s.Jobs.Series() {
			known[series] = dawn
		}
		if got := s.Pace(reported(s, dawn, 0, 0), known, dawn).String(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A job that one pool slows takes no more of the other pools than its slots at that pace: 30 searches, each wanted
// every hour, have 95 calls a day, and so ask for about 95 units instead of 720. The charts get the rest.
func TestAJobSlowedByOnePoolLeavesTheOthersTheRest(t *testing.T) {
	dawn := time.Date(2026, 2, 14, 8, 0, 0, 0, time.UTC)
	charts := chart(30*time.Minute, 2, regions.Default()...)
	bands := ingest.Job{Name: "bands", Kind: ingest.KindSearch, Every: time.Hour, Pages: 1, Regions: []ingest.Region{"US"}}
	for i := range 30 {
		bands.Queries = append(bands.Queries, fmt.Sprintf("band %d", i))
	}
	round := func(jobs ...ingest.Job) time.Duration {
		s := limitedBy(t, "split-2026-06", 600, jobs...)
		known := map[ingest.Series]time.Time{}
		for _, series := range s.Jobs.Series() {
			known[series] = dawn
		}
		for _, paced := range s.Pace(reported(s, dawn, 0, 0), known, dawn).Jobs {
			if paced.Job.Name == charts.Name {
				return paced.Round
			}
		}
		return 0
	}
	alone, beside := round(charts), round(charts, bands)
	if share := float64(alone) / float64(beside); !(share > 0.98*(570-95)/570 && share < 0.9) {
		t.Errorf("charts come every %v beside the searches, alone every %v: want 475 of 570 units for them", beside, alone)
	}
}

// The videos and categories that the refresh still to come today has to look up are set aside before a chart is
// priced, and a chart leaves them.
func TestARefreshsNeedIsSetAsideFirst(t *testing.T) {
	now := time.Date(2026, 2, 14, 8, 1, 0, 0, time.UTC)
	charts := chart(30*time.Minute, 4, regions.Default()...)
	s := limited(t, 300, charts, refresh())
	stored := &notes{slots: refreshed(s, now)}
	w := budget.OthersWatch{Notes: stored, Schedule: s}
	paced := func(r quota.Report) []budget.JobPace {
		return s.Pace(w.Expect(t.Context(), r).Report, nil, now).Jobs
	}
	r := reported(s, now, 0, 0)
	if got := paced(r); len(got) != 1 || got[0].Budget != 285 {
		t.Errorf("%+v, want the whole budget: nothing is to be refreshed", got)
	}
	stored.old, stored.unnamed = []int{51}, regions.Default()
	if got := paced(r); len(got) != 1 || got[0].Budget != 285-2-8 {
		t.Errorf("%+v, want a budget of 275: two look-ups and eight regions' categories are set aside", got)
	}
	if got := w.Expect(t.Context(), r).Refresh["units"]; got != 2+8 {
		t.Errorf("%d in the forecast, want 10", got)
	}
	stored.old = []int{0, 0, 0, 0, 0, 15_000} // 300 look-ups are spread over the six days to their time
	if got := w.Expect(t.Context(), r).Refresh["units"]; got != 50+8 {
		t.Errorf("%d in the forecast five days before, want 58", got)
	}
	stored.old = []int{51}
	done := stored.slots
	if stored.slots = nil; len(paced(r)) != 1 || paced(r)[0].Left != 285-2*(2+8) {
		t.Errorf("%+v, want 265 left: this run adds a refresh, and the next one is due today", paced(r))
	}
	stored.slots = done
	stored.old, stored.unnamed = []int{20 * 50}, nil
	r.Spent = append(r.Spent, quota.Spent{Pool: "units", Who: quota.Who{Purpose: quota.Refresh}, Amount: 20})
	for i, p := range r.Pools {
		for j := range p.Windows {
			if p.Pool == "units" && !p.Windows[j].Window.Day() {
				r.Pools[i].Windows[j].Used = 20 // yesterday's refresh
			}
		}
	}
	if got := paced(r); len(got) != 1 || got[0].Budget != 285-20 {
		t.Errorf("%+v, want a budget of 265", got)
	}
	for i, p := range r.Pools {
		for j := range p.Windows {
			if p.Pool == "units" {
				r.Pools[i].Windows[j].Used = 285 - 20
			}
		}
	}
	if got := paced(r); len(got) != 1 || got[0].Most != 0 {
		t.Errorf("%+v, want no chart from what the refresh of today needs", got)
	}
}

// refreshed returns the newest slot of the refresh job, done.
func refreshed(s budget.PricedSchedule, now time.Time) []ingest.Slot {
	for _, schedule := range s.Jobs {
		if schedule.Job.Kind == ingest.KindRefresh {
			return []ingest.Slot{{SlotKey: schedule.Latest(now)[0], Kind: ingest.KindRefresh, State: ingest.Done}}
		}
	}
	return nil
}

// A refresh that comes in 20 hours slows the charts of a full sliding window a little, from now on. None of them waits
// for a whole return because of it.
func TestALaterRefreshSlowsChartsAndStopsNone(t *testing.T) {
	now := midnight.Add(-4 * time.Hour) // the next refresh is due the day after, at 00:00
	job := refresh()
	job.Cron, job.Every = "0 0 * * *", 0
	s := limited(t, 40, chart(30*time.Minute, 4, regions.Default()...), job)
	stored := &notes{slots: refreshed(s, now)}
	w := budget.OthersWatch{Notes: stored, Schedule: s}
	r := reported(s, now, 34, 0)
	for i, p := range r.Pools {
		for j, window := range p.Windows {
			if p.Pool == "units" && window.Window.Day() {
				r.Pools[i].Windows[j].Used = 28
			}
		}
	}
	known := map[ingest.Series]time.Time{{Job: "chart", Key: "US"}: now.Add(-time.Hour)}
	paced := func() budget.JobPace {
		e := w.Expect(t.Context(), r)
		e.Pages = map[string]int{"chart": 2}
		jobs := s.With(e).Pace(e.Report, known, now).Jobs
		if len(jobs) != 1 {
			t.Fatalf("%+v, want one", jobs)
		}
		return jobs[0]
	}
	before := paced()
	stored.old = []int{50}
	after := paced()
	if before.Most != 1 || after.Most != 1 || after.Budget != before.Budget-1 {
		t.Errorf("%d of budget %d, and %d of %d with a refresh that comes: want a budget of one unit less, and a chart now",
			before.Most, before.Budget, after.Most, after.Budget)
	}
}

// The pages of a chart change no more often than they must: a few failed calls do not, as long as a chart comes every
// 15 hours.
func TestAFailedCallDoesNotChangeTheNumberOfPages(t *testing.T) {
	dawn := time.Date(2026, 2, 14, 8, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name         string
		failed       int64
		before, want int // pages
	}{
		{"as before", 0, 2, 2},
		{"five calls failed", 5, 2, 2},
		{"they did, and it has one page", 5, 1, 1},
		{"two pages fit again within 12 hours", 2, 1, 2},
		{"twelve calls failed", 12, 2, 1},
		{"it has none yet", 5, 0, 1},
	} {
		s := limited(t, 40, chart(30*time.Minute, 4, regions.Default()...))
		if tt.before > 0 {
			s.Pages = map[string]int{"chart": tt.before}
		}
		jobs := s.Pace(reported(s, dawn, 0, tt.failed), nil, dawn).Jobs
		if len(jobs) != 1 || jobs[0].Pages != tt.want {
			t.Errorf("%s: %+v, want %d pages", tt.name, jobs, tt.want)
		}
	}
}

// In the grace after a midnight, eight charts are fetched, which count in both days: the pace is already of the new day.
func TestThePaceInTheGraceIsTheNewDays(t *testing.T) {
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	known := map[ingest.Series]time.Time{{Job: "chart", Key: "US"}: midnight}
	var gaps []time.Duration
	for _, after := range []time.Duration{4 * time.Second, time.Minute} {
		r := reported(s, midnight.Add(after), 0, 0)
		for i, p := range r.Pools {
			day := &r.Pools[i].Windows[slices.IndexFunc(p.Windows, func(w quota.WindowState) bool { return w.Window.Day() })]
			if day.FreesAt, day.Used = midnight.AddDate(0, 0, 1).Add(s.Tariff.Grace), 32; after < s.Tariff.Grace {
				day.FreesAt, day.Used = midnight.Add(s.Tariff.Grace), 280
				day.Returns = []quota.Return{{At: day.FreesAt, Amount: 248}, {At: day.FreesAt.AddDate(0, 0, 1), Amount: 32}}
			}
		}
		jobs := s.Pace(r, known, r.At).Jobs
		if len(jobs) != 1 || !jobs[0].Ends.Equal(midnight.AddDate(0, 0, 1).Add(s.Tariff.Grace)) {
			t.Fatalf("after %v: %+v", after, jobs)
		}
		gaps = append(gaps, jobs[0].Gap)
	}
	if gaps[0] != gaps[1] {
		t.Errorf("in the grace a chart every %v, after it every %v", gaps[0], gaps[1])
	}
}

// After a night without runs, the series that have waited for more than two rounds come first: the pace is of the
// later charts.
func TestAPaceBeginsAfterOverdueCharts(t *testing.T) {
	now := midnight.Add(8 * time.Hour)
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	known := map[ingest.Series]time.Time{}
	for i, region := range regions.Default() {
		known[ingest.Series{Job: "chart", Key: string(region)}] = now.Add(-time.Duration(i) * 100 * time.Minute)
	}
	got := s.Pace(reported(s, now, 100, 0), known, now)
	if len(got.Jobs) != 1 || got.Jobs[0].Overdue != 4 || !strings.HasSuffix(got.String(), ", after 4 that are overdue") {
		t.Errorf("%+v, %q, want the four of more than 5 h 30 m", got.Jobs, got)
	}
}

// 15,000 videos become too old on one day, under 300 units: their 300 look-ups are spread over the days before, so that
// none takes more than a quarter of the charts' budget and none is late. Where charts leave more than a quarter,
// refreshes may have it; work that is too much even for six days waits, and a few look-ups are not spread at all.
func TestARefreshTooBigForADayIsSpreadOverTheDaysBefore(t *testing.T) {
	starved, rich := chart(30*time.Minute, 4, regions.Default()...), chart(24*time.Hour, 4, regions.Default()...)
	for _, tt := range []struct {
		name string
		job  ingest.Job
		old  []int
		want []int // look-ups a day
		late int   // videos, after the last day
	}{
		{"spread evenly", starved, []int{0, 0, 0, 0, 0, 15_000}, []int{50, 50, 50, 50, 50, 50}, 0},
		{"a day's share is not", starved, []int{0, 0, 0, 0, 0, 71 * 50}, []int{0, 0, 0, 0, 0, 71}, 0},
		{"a little, day after day, in calls that are filled up", starved, []int{10, 10, 10, 10, 10, 10}, []int{1, 0, 0, 0, 0, 1}, 0},
		{"it becomes known too late", starved, []int{5_000, 0, 0, 0, 0, 0}, []int{71, 29, 0, 0, 0, 0}, 0},
		{"too much for all days", starved, []int{0, 0, 0, 0, 0, 25_000}, []int{71, 71, 71, 71, 71, 71}, 25_000 - 6*71*50},
		{"what charts leave", rich, []int{0, 0, 0, 0, 0, 200 * 50}, []int{0, 0, 0, 0, 0, 200}, 0},
	} {
		s := limited(t, 300, tt.job, refresh())
		stored := &notes{old: tt.old}
		w := budget.OthersWatch{Notes: stored, Schedule: s}
		for day, want := range tt.want {
			charged, videos := int64(0), 0
			for now := midnight.AddDate(0, 0, day); ; {
				calls, waits, err := w.RefreshCalls(t.Context(), now, map[string]int64{"units": charged})
				if err != nil {
					t.Fatal(err)
				}
				if calls <= 0 {
					if late := stored.old[0] > 0; late != (waits != "") {
						t.Errorf("%s, day %d: %d are late, and it says %q", tt.name, day, stored.old[0], waits)
					}
					break
				}
				charged++
				for left, i := 50, 0; left > 0 && i < len(stored.old); i++ { // the oldest first; the last call is filled up
					n := min(left, stored.old[i])
					stored.old[i], left, videos = stored.old[i]-n, left-n, videos+n
				}
			}
			if int(charged) != want {
				t.Errorf("%s: on day %d it makes %d look-ups of %d videos, want %d", tt.name, day, charged, videos, want)
			}
			if day < len(tt.want)-1 {
				stored.old = append([]int{stored.old[0] + stored.old[1]}, append(slices.Clone(stored.old[2:]), 0)...)
			}
		}
		if stored.old[0] != tt.late {
			t.Errorf("%s: %d are late in the end, want %d", tt.name, stored.old[0], tt.late)
		}
	}
}

// While the provider says that the pool is spent, nothing is due before it opens.
func TestADrainedPoolHoldsThePace(t *testing.T) {
	now := time.Date(2026, 2, 14, 20, 0, 0, 0, time.UTC)
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	r, until := reported(s, now, 100, 0), now.Add(12*time.Hour)
	for i := range r.Pools {
		if r.Pools[i].Pool == "units" {
			r.Pools[i].DrainedUntil = until
		}
	}
	paces := s.Pace(r, nil, now).Jobs
	if len(paces) != 1 || !paces[0].Hold.Equal(until) || paces[0].Most != 0 {
		t.Errorf("%+v, want none before %v", paces, until)
	}
}

// 240 of the 285 units were used within a few hours, and none of them leaves the sliding window for another ten hours:
// the rest lasts until then. As soon as they leave it, slots come at the window's own pace.
func TestTheRestLastsUntilASlidingWindowHasMore(t *testing.T) {
	now := time.Date(2026, 2, 14, 8, 0, 0, 0, time.UTC)
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	for _, tt := range []struct {
		free time.Duration
		want string
	}{
		{10 * time.Hour, "chart every 8 h instead of 30 m: 285 units in 24h"},
		{time.Minute, "chart every 2 h 45 m instead of 30 m: 285 units in 24h"},
	} {
		r := reported(s, now, 240, 0)
		for i, p := range r.Pools {
			for j, w := range p.Windows {
				if w.Window.Day() {
					r.Pools[i].Windows[j].Used = 0 // they were of the last day
				}
				if !w.Window.Day() {
					r.Pools[i].Windows[j].FreesAt = now.Add(tt.free)
				}
			}
		}
		if got := s.Pace(r, nil, now).String(); got != tt.want {
			t.Errorf("free in %v: %q, want %q", tt.free, got, tt.want)
		}
	}
}

// While nothing changes, the same next slot is predicted at every moment before it, and the interval counts the slots
// after the window's renewal at its own pace.
func TestTheNextSlotStaysWhereItWasPredicted(t *testing.T) {
	begins := time.Date(2026, 2, 14, 8, 0, 0, 0, time.UTC)
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	known := map[ingest.Series]time.Time{}
	for i, r := range regions.Default() {
		known[ingest.Series{Job: "chart", Key: string(r)}] = begins.Add(-time.Duration(i) * time.Minute)
	}
	first := time.Duration(0)
	for _, since := range []time.Duration{time.Second, 13 * time.Minute, 26 * time.Minute} {
		r := reported(s, begins.Add(since), 240, 0)
		for i, p := range r.Pools {
			for j, w := range p.Windows {
				r.Pools[i].Windows[j].FreesAt = begins.Add(5 * time.Hour)
				if w.Window.Day() {
					r.Pools[i].Windows[j].Used, r.Pools[i].Windows[j].FreesAt = 0, begins.Add(24*time.Hour)
				}
			}
		}
		paces := s.Pace(r, known, r.At).Jobs
		if len(paces) != 1 {
			t.Fatalf("%v later: %+v, want one", since, paces)
		}
		p := paces[0]
		if first == 0 {
			first = p.Gap
		}
		// ten slots until 13:00, and one gap more
		if (p.Gap-first).Abs() > time.Second || (p.Gap-5*time.Hour/11).Abs() > time.Second {
			t.Errorf("%v later: a gap of %v, want %v", since, p.Gap, 5*time.Hour/11)
		}
		if !p.Eases.Equal(begins.Add(5*time.Hour)) || p.Eased >= p.Gap || p.Round != 8*p.Gap {
			t.Errorf("%v later: eased to %v at %v, a round of %v", since, p.Eased, p.Eases, p.Round)
		}
	}
}

// A chart begins only with room to retry its pages. Where that is not left, the forecast does not say that it fits, nor
// where the pace holds a job back.
func TestNothingFitsThatCannotBegin(t *testing.T) {
	now := time.Date(2026, 2, 15, 7, 20, 0, 0, time.UTC)
	last := chart(0, 4, "US")
	last.Cron = "30 7 * * *" // the only one before the day turns, at 08:00
	hourly := chart(time.Hour, 4, regions.Default()...)
	for _, tt := range []struct {
		name string
		job  ingest.Job
		left int64
		fits bool
	}{
		{"less than its price", last, 3, false},
		{"its price, and no retry", last, 4, false},
		{"one retry too few", last, 7, false},
		{"its price, and its retries", last, 8, true},
		{"a chart that nothing of today is left for, due as the day ends", chart(time.Hour, 4, "US"), 4, true},
		{"the rest of the day, which a sliding window stretches", hourly, 90, false},
		{"plenty", hourly, 900, true},
	} {
		s := limited(t, 1_000, tt.job)
		r := reported(s, now, 0, 950-tt.left)
		known := map[ingest.Series]time.Time{}
		for _, series := range s.Jobs.Series() {
			known[series] = now.Add(-20 * time.Minute)
		}
		pace := s.Pace(r, known, now)
		if f, err := s.Forecast(r, pace, nil, now); err != nil || f.Fits != tt.fits {
			t.Errorf("%s: %d units are left: %+v, %v; the pace is %q, want %v", tt.name, tt.left, f, err, pace, tt.fits)
		}
	}
}

// A schedule fits if its pace makes no slot of the day more than 15 min late, and no job waits.
func TestAPaceThatMakesNoSlotLateFits(t *testing.T) {
	usual := chart(30*time.Minute, 4, "US")
	monthly := chart(0, 4, "US")
	monthly.Cron = "30 7 1 * *"
	for _, tt := range []struct {
		name string
		job  ingest.Job
		hour int // of 2026-02-14; the day ends at 08:00 of the next
		pace budget.JobPace
		fits bool
	}{
		{"its own interval", usual, 10, budget.JobPace{Pace: regions.Pace{Round: 30 * time.Minute}}, true},
		{"11 min late by the end of the day", usual, 10, budget.JobPace{Pace: regions.Pace{Round: 30*time.Minute + 15*time.Second}}, true},
		{"22 min late by the end of the day", usual, 10, budget.JobPace{Pace: regions.Pace{Round: 30*time.Minute + 30*time.Second}}, false},
		{"the same pace for ten hours", usual, 22, budget.JobPace{Pace: regions.Pace{Round: 30*time.Minute + 30*time.Second}}, true},
		{"a wait for a closed pool", usual, 10, budget.JobPace{Waits: true}, false},
		{"a wait for units", usual, 10, budget.JobPace{Pace: regions.Pace{UsedUp: true}}, false},
		{"a wait of a job that has no slot today", monthly, 10, budget.JobPace{Waits: true}, true},
	} {
		s := limited(t, 10_000, tt.job)
		now := time.Date(2026, 2, 14, tt.hour, 0, 1, 0, time.UTC)
		tt.pace.Job = tt.job
		f, err := s.Forecast(reported(s, now, 0, 0), budget.PacedSchedule{Jobs: []budget.JobPace{tt.pace}}, nil, now)
		if err != nil || f.Fits != tt.fits {
			t.Errorf("%s: fits %v, %v, want %v", tt.name, f.Fits, err, tt.fits)
		}
	}
}

// The day's own window paces the chart, but a sliding one admits the next only after the day has turned: at which pace
// is then another day's matter.
func TestAPaceSpeaksOfItsOwnDay(t *testing.T) {
	now := time.Date(2026, 2, 14, 20, 0, 0, 0, time.UTC)
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	for _, tt := range []struct {
		free time.Duration
		want string
	}{
		{time.Hour, "chart every 6 h 24 m instead of 30 m: 60 units left in the day that ends 08:00Z"},
		{13 * time.Hour, ""},
	} {
		r := reported(s, now, 225, 0)
		for i, p := range r.Pools {
			for j, w := range p.Windows {
				if p.Pool == "units" && !w.Window.Day() {
					r.Pools[i].Windows[j].Used, r.Pools[i].Windows[j].FreesAt = 285, now.Add(tt.free)
				}
			}
		}
		pace := s.Pace(r, nil, now)
		if got := pace.String(); got != tt.want || !pace.Jobs[0].Hold.After(now) {
			t.Errorf("the sliding window has more in %v: %q, want %q; %+v", tt.free, got, tt.want, pace.Jobs)
		}
	}
}

// BenchmarkPace: every pass of a queue's worker asks for it, and every page. Here all jobs but one keep their
// intervals.
func BenchmarkPace(b *testing.B) {
	for _, n := range []int{30, 300} {
		b.Run(fmt.Sprintf("%d jobs", n), func(b *testing.B) {
			var jobs []ingest.Job
			for i := range n {
				job := chart(time.Duration(i+1)*time.Hour, 1, regions.Default()...)
				job.Name = fmt.Sprintf("job%03d", i)
				jobs = append(jobs, job)
			}
			s := limited(b, int64(100*n), jobs...)
			now := time.Date(2026, 2, 14, 8, 0, 0, 0, time.UTC)
			r := reported(s, now, 0, 0)
			for b.Loop() {
				if pace := s.Pace(r, nil, now); len(pace.Jobs) > 1 {
					b.Fatal(pace)
				}
			}
		})
	}
}

// A pace that is longer by seconds is not said to be the interval itself.
func TestAPaceOfSecondsIsPrintedInSeconds(t *testing.T) {
	p := budget.JobPace{Job: chart(30*time.Minute, 4, "US"), Pages: 4, Pool: "units", Budget: 1556, Window: "24h"}
	p.Round = 30*time.Minute + 15*time.Second
	if got, want := p.String(), "chart every 30 m 15 s instead of 30 m: 1556 units in 24h"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
