package fetch_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

// clerk names categories and counts videos, and records its requests.
type clerk struct {
	asked []string
	fail  error
}

func (c *clerk) Categories(region ingest.Region) fetch.Call[[]ingest.Category] {
	return fetch.Call[[]ingest.Category]{Method: "videoCategories.list", Region: region, Do: func(context.Context) ([]ingest.Category, error) {
		c.asked = append(c.asked, string(region))
		return []ingest.Category{{ID: "10", Name: "Music in " + string(region)}}, c.fail
	}}
}

func (c *clerk) Counts(ids []string) fetch.Call[[]ingest.Counts] {
	return fetch.Call[[]ingest.Counts]{Method: "videos.list", Do: func(context.Context) ([]ingest.Counts, error) {
		c.asked = append(c.asked, fmt.Sprint(len(ids)))
		views := int64(7)
		var counts []ingest.Counts
		for _, id := range ids {
			counts = append(counts, ingest.Counts{ID: id, Views: &views})
		}
		return counts, c.fail
	}}
}

// Each region's names are asked for after its first chart, and again one to two weeks later, on different days.
func TestCategoriesAreNamedAfterAFirstChartAndThenWeekly(t *testing.T) {
	b := newBench(t, 1000)
	s := b.onStore(t)
	c := &clerk{}
	b.run.Namer = c
	run := func(days int) []string {
		t.Helper()
		c.asked = nil
		b.now = start.AddDate(0, 0, days)
		if worked, err := b.run.Run(t.Context(), fetch.RunOptions{}); err != nil || len(worked) != 9 {
			t.Fatalf("%s %v, want 9 of them", states(worked), err)
		}
		return c.asked
	}
	all := []string{"AU", "BR", "CA", "DE", "FR", "GB", "IN", "US"}
	for _, day := range []struct {
		day  int
		want []string
	}{{0, nil}, {1, all}, {2, nil}, {7, nil}} {
		if got := run(day.day); !slices.Equal(got, day.want) {
			t.Errorf("day %d: asked for %v, want %v", day.day, got, day.want)
		}
	}
	var again []string
	for day := 8; day < 16; day++ {
		got := run(day)
		if again = append(again, got...); len(got) > 3 {
			t.Errorf("day %d: asked for %v, want the regions on different days", day, got)
		}
	}
	if slices.Sort(again); !slices.Equal(again, all) {
		t.Errorf("in the second week: asked for %v, want each region once", again)
	}
	german, err := s.FindChart(t.Context(), store.ChartQuery{Region: "DE"})
	if err != nil || german.Categories["10"] != "Music in DE" || len(german.Categories) != 1 {
		t.Errorf("names of DE: %v, %v, want \"Music in DE\" and 1", german.Categories, err)
	}
}

func TestVideosThatLeftTheChartsAreCountedOnceADay(t *testing.T) {
	b := newBench(t, 1000)
	s := b.onStore(t)
	c := &clerk{}
	b.run.Counter = c
	run := func(after time.Duration) []string {
		t.Helper()
		c.asked = nil
		b.now = start.Add(after)
		if _, err := b.run.Run(t.Context(), fetch.RunOptions{}); err != nil {
			t.Fatal(err)
		}
		return c.asked
	}
	run(0) // 8 regions x 4 pages of one video
	b.upstream.pages = 1
	// The refresh runs before that day's charts, so that all 32 are a day old.
	if got := run(24*time.Hour + time.Minute); !slices.Equal(got, []string{"32"}) {
		t.Errorf("a day later asked for %v, want the 32 at once", got)
	}
	if got := run(36 * time.Hour); len(got) != 0 {
		t.Errorf("half a day later asked for %v, want none", got)
	}
	if got := run(48*time.Hour + 2*time.Minute); len(got) != 1 {
		t.Errorf("two days later asked for %v, want one call", got)
	}
	chart, err := s.Chart(t.Context(), "US", start.Add(time.Hour), true)
	if err != nil || len(chart.Items) != 4 || chart.Items[0].Video.Views != nil {
		t.Fatalf("the chart of then has its own counts: %+v, %v", chart.Items, err)
	}
}

// uncountable has nothing left for counts.
type uncountable struct{ fetch.Quota }

func (q uncountable) Take(ctx context.Context, r quota.Request) (quota.Decision, error) {
	if r.Purpose == quota.Refresh && r.Method == "videos.list" {
		return quota.Decision{Refusal: &quota.Refusal{Pool: "batch_stats"}, RetryAfter: time.Hour}, nil
	}
	return q.Quota.Take(ctx, r)
}

func TestCategoriesAreNamedAlsoWhenNothingIsLeftToCountVideos(t *testing.T) {
	b := newBench(t, 1000)
	b.onStore(t)
	c := &clerk{}
	b.run.Namer, b.run.Counter, b.run.Quota = c, c, uncountable{b.governor}
	for day := range 2 {
		b.now = start.AddDate(0, 0, day).Add(time.Duration(day) * time.Minute)
		if _, err := b.run.Run(t.Context(), fetch.RunOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.asked) != 8 {
		t.Errorf("asked for %q, want the names of 8 regions", c.asked)
	}
}

// A region without a chart, or one that the upstream does not know, is asked for, and logged, once a day.
func TestAChartThatDoesNotExistIsAskedForOnceADay(t *testing.T) {
	for verdict, ends := range map[fetch.CallVerdict]ingest.State{fetch.NoChart: ingest.Skipped, fetch.BadRegion: ingest.Failed} {
		t.Run(string(verdict), func(t *testing.T) { askedOnceADay(t, verdict, ends) })
	}
}

func askedOnceADay(t *testing.T, verdict fetch.CallVerdict, ends ingest.State) {
	b := newBench(t, 1000)
	b.onStore(t)
	b.upstream.answer = func(context.Context, int) error {
		return &fetch.Error{Verdict: verdict, Method: "videos.list", Err: fmt.Errorf("no chart")}
	}
	var log bytes.Buffer
	b.run.Log = slog.New(slog.NewTextHandler(&log, nil))
	run := func(after time.Duration, ends ingest.State) int {
		t.Helper()
		log.Reset()
		before := len(b.upstream.calls)
		b.now = start.Add(after)
		worked, err := b.run.Run(t.Context(), fetch.RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range worked {
			if w.Kind == ingest.KindChart && (w.State != ends || w.Reason == "") {
				t.Errorf("%s ended as %s %q", w.Key, w.State, w.Reason)
			}
		}
		return len(b.upstream.calls) - before
	}
	for _, at := range []struct {
		after time.Duration
		want  int
	}{{0, 8}, {30 * time.Minute, 0}, {23 * time.Hour, 0}, {24 * time.Hour, 8}, {25 * time.Hour, 0}} {
		state := ingest.Skipped
		if at.want > 0 {
			state = ends
		}
		if got := run(at.after, state); got != at.want {
			t.Errorf("after %v: %d calls, want %d", at.after, got, at.want)
		}
		if lines := strings.Count(log.String(), "slot "+string(ends)); lines != at.want {
			t.Errorf("after %v: %d lines in the log, want %d\n%s", at.after, lines, at.want, log.String())
		}
	}
	// A person who forces it gets it.
	b.now = start.Add(25*time.Hour + time.Minute)
	before := len(b.upstream.calls)
	us := []ingest.Series{{Job: "chart", Key: "US"}}
	if _, err := b.run.Run(t.Context(), fetch.RunOptions{Series: us, Force: true}); err != nil || len(b.upstream.calls) != before+1 {
		t.Errorf("forced: %d calls, %v, want 1", len(b.upstream.calls)-before, err)
	}
}

// broom reports these numbers as deleted.
type broom struct {
	fetch.Sink
	placements, videos int
}

func (b broom) Sweep(context.Context, time.Time) (placements, videos int, err error) {
	return b.placements, b.videos, nil
}

func TestARefreshReportsItsDeletionsAndElseNothing(t *testing.T) {
	for want, swept := range map[string]broom{
		"":                                   {},
		"deleted 1 video older than 29 days": {videos: 1},
		"deleted 200 placements older than 29 days":              {placements: 200},
		"deleted 1 placement and 2000 videos older than 29 days": {placements: 1, videos: 2000},
	} {
		b := newBench(t, 100)
		swept.Sink = b.run.Sink
		b.run.Sink = swept
		slot := ingest.Slot{SlotKey: ingest.SlotKey{Job: "refresh", DueAt: start}, Kind: ingest.KindRefresh, State: ingest.Due}
		b.run.Schedule = schedule{slot}
		worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: []ingest.Series{slot.Series()}})
		if err != nil || len(worked) != 1 || worked[0].State != ingest.Done || worked[0].Reason != want {
			t.Errorf("it says %+v, %v; want %q", worked, err, want)
		}
	}
}

// The upstream fails while videos are looked up: the slot is tried again within the hour, each time with one call, until an
// answer comes. It does not fail for the day.
func TestARefreshWhoseCallFailsIsTriedAgainWithinTheHour(t *testing.T) {
	b := newBench(t, 1000)
	slot := ingest.Slot{SlotKey: ingest.SlotKey{Job: "refresh", DueAt: start}, Kind: ingest.KindRefresh, State: ingest.Due}
	b.run.Schedule, b.table.stale = schedule{slot}, [][]string{{"a", "b"}}
	b.upstream.answer = on(fetch.Broken, 1_000)
	var tried []time.Duration
	for ; b.now.Before(start.Add(3 * time.Hour)); b.now = b.now.Add(time.Minute) {
		worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: []ingest.Series{slot.Series()}})
		if err != nil || len(worked) > 1 {
			t.Fatalf("%s %v, want at most 1", states(worked), err)
		}
		if len(worked) == 1 {
			tried = append(tried, b.now.Sub(start))
			if s := worked[0]; s.State != ingest.Due || s.Reason == "" || !s.RetryAt.After(b.now) || s.RetryAt.Sub(b.now) > time.Hour {
				t.Fatalf("after %v the slot is %s until %s: %s", b.now.Sub(start), s.State, s.RetryAt, s.Reason)
			}
		}
	}
	if want := []time.Duration{0, time.Minute, 6 * time.Minute, 21 * time.Minute, 81 * time.Minute, 141 * time.Minute}; !slices.Equal(tried, want) {
		t.Errorf("tried after %v, want %v", tried, want)
	}
	if calls := len(b.upstream.calls); calls != 4+len(tried)-1 {
		t.Errorf("%d calls for %d tries, want retries in the first one only", calls, len(tried))
	}
	b.upstream.answer, b.now = nil, start.Add(4*time.Hour)
	if worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: []ingest.Series{slot.Series()}}); err != nil ||
		len(worked) != 1 || worked[0].State != ingest.Done {
		t.Errorf("once it answers: %s %v, want 1 and %v", states(worked), err, ingest.Done)
	}
}

// A refresh makes as many look-ups as it may, fills the last one up with videos that have time, and reports the rest.
func TestARefreshLooksUpNoMoreThanItMay(t *testing.T) {
	b := newBench(t, 1000)
	slot := ingest.Slot{SlotKey: ingest.SlotKey{Job: "refresh", DueAt: start}, Kind: ingest.KindRefresh, State: ingest.Due}
	b.run.Schedule, b.table.stale = schedule{slot}, [][]string{{"a"}, {"b"}, {"c"}}
	b.run.RefreshCalls = func(context.Context, time.Time, map[string]int64) (int, string, error) {
		return 2, "1 video waits", nil
	}
	worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: []ingest.Series{slot.Series()}})
	if err != nil || len(worked) != 1 || worked[0].State != ingest.Done || !strings.Contains(worked[0].Reason, "1 video waits") || len(b.upstream.calls) != 2 {
		t.Errorf("%d calls, %+v, %v", len(b.upstream.calls), worked, err)
	}
	if b.table.early != ingest.RefreshEarly {
		t.Errorf("it asked for videos %v before their time, want %v", b.table.early, ingest.RefreshEarly)
	}
}
