package simulation_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/memledger"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// On a day with half its price no region pays for the others: none ends with less than 80 % of another's charts. The
// cases are two starved days in a row of the default schedule, and a day of a cron line under a limit per hour: there
// all regions are due at once, every hour ends short, and only the order of the claims shares the units.
func TestAStarvedDayIsShared(t *testing.T) {
	usual, at := config.DefaultJobs(config.JobLimits{UsualPages: 4})[0], config.DefaultJobs(config.JobLimits{UsualPages: 4})[0]
	at.Every, at.Cron = 0, "*/30 * * * *"
	for name, c := range map[string]struct {
		job     ingest.Job
		trigger time.Duration
		window  time.Duration // of the limit; 0: the ceilings of costs.yaml
		days    int
	}{
		"the default, run every 10 minutes":                       {usual, 10 * time.Minute, 0, 2},
		"a cron line, run as often as it fires, a limit per hour": {at, 30 * time.Minute, time.Hour, 1},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Date(2026, 2, 14, 0, 0, 0, 0, time.UTC)
			var now atomic.Int64
			now.Store(start.UnixNano())
			clock := func() time.Time { return time.Unix(0, now.Load()).UTC() }
			s, err := store.Open(t.Context(), t.TempDir(), store.Options{Upstream: "localhost", Now: clock})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			schedule, err := regions.NewSchedule([]ingest.Job{c.job})
			if err != nil {
				t.Fatal(err)
			}
			cost := len(schedule[0].Between(start, start.Add(24*time.Hour))) * c.job.Pages
			windows := []quota.Window{{Name: "24h", Length: 24 * time.Hour, Limit: int64(cost) / 2}, {Name: "day", Limit: int64(cost) / 2}}
			if c.window > 0 {
				windows = []quota.Window{{Name: c.window.String(), Length: c.window, Limit: int64(cost) / 2 * int64(c.window) / int64(24*time.Hour)}}
			}
			r := newStarved(t, s, schedule, c.job, windows, clock)
			r.Upstream = prompt{c.job.Pages, func() { now.Add(int64(100 * time.Millisecond)) }} // a call takes a while
			for day := 1; day <= c.days; day++ {
				done := map[string]int{}
				r.OnSlot = func(w ingest.SlotResult) {
					if w.State == ingest.Done {
						done[w.Key]++
					}
				}
				for end := start.Add(24 * time.Hour); start.Before(end); start = start.Add(c.trigger) {
					now.Store(start.UnixNano())
					if _, err := r.Run(t.Context(), fetch.RunOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				shareOf(t, day, done, int64(cost)/2, cost)
			}
		})
	}
}

// shareOf prints and checks how a day was shared.
func shareOf(t *testing.T, day int, done map[string]int, units int64, cost int) {
	t.Helper()
	counts, share, words := []int{}, 0, []string{}
	for _, region := range regions.Default() {
		n := done[string(region)]
		counts, words = append(counts, n), append(words, fmt.Sprintf("%s %d", region, n))
	}
	if most := slices.Max(counts); most > 0 {
		share = 100 * slices.Min(counts) / most
	}
	t.Logf("day %d, %d units where the schedule costs %d: the least fetched region has %d %% of the charts of the most fetched (%s)",
		day, units, cost, share, strings.Join(words, ", "))
	if share < 80 {
		t.Errorf("day %d: %d %%, want 80", day, share)
	}
}

// newStarved returns a reconciler under such limits of its units, with an upstream that answers at once.
func newStarved(t *testing.T, s *store.Store, schedule regions.Schedule, job ingest.Job, windows []quota.Window, clock func() time.Time) *fetch.Reconciler {
	t.Helper()
	tariff, err := quota.ParseCosts("costs.yaml", ingest.Costs, "youtube", "")
	if err != nil {
		t.Fatal(err)
	}
	for p := range tariff.Pools {
		if tariff.Pools[p].Name == "units" {
			tariff.Pools[p].Windows = windows
		}
	}
	ledger := &memledger.Ledger{Now: clock}
	t.Cleanup(func() { _ = ledger.Close() })
	g := &quota.Governor{Ledger: ledger, Tariff: tariff, Account: "default", Now: clock}
	return &fetch.Reconciler{
		Jobs: map[string]ingest.Job{job.Name: job}, Schedule: schedule, Slots: s, Sink: s, Library: s, Upstream: prompt{job.Pages, func() {}}, Quota: g,
		Owner: "test", Now: clock, Log: slog.New(slog.DiscardHandler),
	}
}

// prompt is an upstream whose charts have the given number of pages of one video.
type prompt struct {
	pages  int
	called func()
}

func (p prompt) Chart(region ingest.Region, _, token string) fetch.Call[ingest.Page] {
	return fetch.Call[ingest.Page]{Method: "videos.list", Region: region, Do: func(context.Context) (ingest.Page, error) {
		p.called()
		n := max(1, len(token))
		page := ingest.Page{Videos: []ingest.Video{{ID: fmt.Sprint(region, n), Title: "a video"}}}
		if n < p.pages {
			page.Next = strings.Repeat("p", n+1)
		}
		return page, nil
	}}
}

func (prompt) Limits() fetch.Limits { return fetch.Limits{IDsPerCall: 50} }

func (prompt) Videos([]string) fetch.Call[ingest.Page] {
	return fetch.Call[ingest.Page]{Method: "videos.list", Do: func(context.Context) (ingest.Page, error) { return ingest.Page{}, nil }}
}

// A clock is set an hour forward and back, with a run that dies at each step: every slot that was due by then has one
// row, with one chart or one reason.
func TestASteppedClockLosesAndDoublesNothing(t *testing.T) {
	now := time.Date(2026, 2, 14, 9, 40, 0, 0, time.UTC)
	from := now
	s, err := store.Open(t.Context(), t.TempDir(), store.Options{Upstream: "localhost", Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	job := ingest.Job{Name: "chart", Kind: ingest.KindChart, Regions: regions.Default(), Every: 30 * time.Minute, Pages: 1}
	schedule, err := regions.NewSchedule([]ingest.Job{job})
	if err != nil {
		t.Fatal(err)
	}
	latest := now // the ledger's clock stays where it was: other tests cover the cost of a step there
	r := newStarved(t, s, schedule, job, []quota.Window{{Name: "24h", Length: 24 * time.Hour, Limit: 1_000_000}}, func() time.Time {
		if now.After(latest) {
			latest = now
		}
		return latest
	})
	r.Now = func() time.Time { return now }
	done, last := 0, now
	for i, step := range []time.Duration{0, time.Hour, -time.Hour, 10 * time.Minute, time.Hour, time.Hour, -time.Hour, 2 * time.Hour, 4 * time.Hour} {
		now = now.Add(step)
		due := schedule.Due(mustNewest(t, s), now)
		if err := s.AddDue(t.Context(), due); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Claim(t.Context(), ingest.Claim{Owner: fmt.Sprint("dies ", i), Now: now, Lease: fetch.DefaultLease}); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second run comes when the lease of the dead one is over
			worked, err := r.Run(t.Context(), fetch.RunOptions{})
			if err != nil {
				t.Fatal(err)
			}
			done += len(worked)
			last = now
			now = now.Add(fetch.DefaultLease)
		}
	}
	slots, err := s.ListSlots(t.Context(), store.SlotFilter{})
	if err != nil {
		t.Fatal(err)
	}
	have := map[ingest.SlotKey]int{}
	for _, slot := range slots {
		for _, tick := range slot.Ticks() {
			have[ingest.SlotKey{Job: slot.Job, Key: slot.Key, DueAt: tick}]++
		}
		if slot.State == ingest.Done {
			done--
		} else if slot.Reason == "" || slot.State == ingest.Due || slot.State == ingest.Claimed {
			t.Errorf("%s %s is %s %q", slot.Key, slot.DueAt, slot.State, slot.Reason)
		}
	}
	if done != 0 {
		t.Errorf("%d passes more than slots that are done, want 0", done)
	}
	for _, k := range schedule[0].Between(from, last) {
		if have[k] != 1 {
			t.Errorf("%s %s has %d rows, want 1", k.Key, k.DueAt, have[k])
		}
	}
}

func mustNewest(t *testing.T, s *store.Store) map[ingest.Series]time.Time {
	t.Helper()
	newest, err := s.Newest(t.Context(), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return newest
}
