package fetch_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// moody is an upstream with 60 videos, 20 of them in each region's chart, that answers at random.
type moody struct {
	*rapid.T

	now   func() time.Time
	bad   bool                 // today not all answers are true
	gone  map[string]time.Time // videos that it has no more
	calls int
	last  ingest.Page             // the answer before
	given map[string]time.Time    // when an answer last had a video that was asked for
	chart map[ingest.Region][]int // how many videos each chart had that was answered
	whole map[ingest.Region]int   // the newest of them that was complete, from 1; 0: none
}

// worldly are the regions of a world.
var worldly = []ingest.Region{"US", "GB", "DE"}

func (m *moody) Limits() fetch.Limits {
	return fetch.Limits{IDsPerCall: 50, PerPage: 50, ChartPages: 1}
}

func (m *moody) has(id string) bool {
	since, gone := m.gone[id]
	return !gone || m.now().Before(since)
}

// answer returns the answer to a question about ids: true, blank, short, the one before, without some of the videos that
// are there, or with others too; or an error.
func (m *moody) answer(ids []string) (page ingest.Page, err error) {
	m.calls++
	var truth []ingest.Video
	for _, id := range ids {
		if m.has(id) {
			truth = append(truth, ingest.Video{ID: id, Title: "title"})
		}
	}
	mood := "true"
	if m.bad {
		mood = rapid.SampledFrom([]string{"true", "blank", "short", "repeated", "contradicting", "failing"}).Draw(m.T, "mood")
	}
	switch mood {
	case "blank":
	case "short":
		page.Videos = truth[:len(truth)/10]
	case "repeated":
		page = m.last
	case "contradicting":
		at := rapid.IntRange(0, max(0, len(truth)-1)).Draw(m.T, "left out from")
		n := rapid.IntRange(0, 12).Draw(m.T, "left out")
		page.Videos = append(slices.Clone(truth[:at]), truth[min(len(truth), at+n):]...)
	case "failing":
		return page, &fetch.Error{Verdict: fetch.Broken, Method: "videos.list", Err: errors.New("broken")}
	default:
		page.Videos = truth
	}
	m.last = page
	return page, nil
}

func (m *moody) Chart(region ingest.Region, _, _ string) fetch.Call[ingest.Page] {
	return fetch.Call[ingest.Page]{Method: "videos.list", Do: func(context.Context) (ingest.Page, error) {
		day := int(m.now().Sub(start) / (24 * time.Hour))
		var ids []string
		for i := range 20 {
			ids = append(ids, fmt.Sprintf("v%02d", (day+i+15*slices.Index(worldly, region))%60))
		}
		page, err := m.answer(ids)
		if err == nil {
			m.note(page, nil)
			m.charted(region, len(page.Videos))
		}
		return page, err
	}}
}

// charted notes a chart of n videos: it is complete if it has a third of the median of the last ten that had any.
func (m *moody) charted(region ingest.Region, n int) {
	var before []int
	for _, videos := range slices.Backward(m.chart[region]) {
		if videos > 0 && len(before) < 10 {
			before = append(before, videos)
		}
	}
	slices.Sort(before)
	m.chart[region] = append(m.chart[region], n)
	if n > 0 && (len(before) == 0 || n*3 >= before[len(before)/2]) {
		m.whole[region] = len(m.chart[region])
	}
}

func (m *moody) Videos(ids []string) fetch.Call[ingest.Page] {
	return fetch.Call[ingest.Page]{Method: "videos.list", Do: func(context.Context) (ingest.Page, error) {
		page, err := m.answer(ids)
		if err == nil {
			m.note(page, ids)
		}
		return page, err
	}}
}

// note notes which of the videos that were asked for came; nil ids: all were.
func (m *moody) note(page ingest.Page, ids []string) {
	for _, v := range page.Videos {
		if ids == nil || slices.Contains(ids, v.ID) {
			m.given[v.ID] = m.now()
		}
	}
}

// liveThrough plays 40 days: no video that the upstream still has is deleted before day 29, the newest whole chart is one
// that was complete, and each unit is one call.
func liveThrough(t *testing.T, rt *rapid.T) {
	b := newBench(t, 1_000_000)
	s := b.onStore(t)
	jobs := []ingest.Job{
		{Name: "chart", Kind: ingest.KindChart, Regions: worldly, Every: 24 * time.Hour, Pages: 1},
		{Name: "refresh", Kind: ingest.KindRefresh, Every: 24 * time.Hour},
	}
	plan, err := regions.NewSchedule(jobs)
	if err != nil {
		rt.Fatal(err)
	}
	m := &moody{T: rt, now: b.run.Now, gone: map[string]time.Time{}, given: map[string]time.Time{}, chart: map[ingest.Region][]int{}, whole: map[ingest.Region]int{}}
	for i := range 60 {
		if day := rapid.IntRange(0, 160).Draw(rt, "gone on"); day < 40 {
			m.gone[fmt.Sprintf("v%02d", i)] = start.AddDate(0, 0, day)
		}
	}
	b.run.Schedule, b.run.Upstream, b.run.Jobs = plan, m, map[string]ingest.Job{"chart": jobs[0], "refresh": jobs[1]}
	type numbered struct {
		region ingest.Region
		number int
	}
	wholeAt := map[numbered]time.Time{} // a chart's slot
	var plans []ingest.Backfill
	for hour := 0; hour < 40*24; hour += 24 {
		b.now = start.Add(time.Duration(hour) * time.Hour)
		m.bad = rapid.IntRange(0, 2).Draw(rt, "bad") > 0
		calls, charts := m.calls, map[ingest.Region]int{}
		for _, region := range worldly {
			charts[region] = len(m.chart[region])
		}
		if rapid.IntRange(0, 5).Draw(rt, "backfill") == 0 {
			plans = append(plans, planWorldly(t, rt, s, b.now))
		}
		worked, err := b.run.Run(t.Context(), fetch.RunOptions{})
		for _, plan := range plans {
			pieces, failed := b.run.Run(t.Context(), fetch.RunOptions{Backfill: &plan})
			worked, err = append(worked, pieces...), errors.Join(err, failed)
		}
		if err != nil {
			rt.Fatalf("day %d: %v", hour/24, err)
		}
		spent := int64(0)
		for _, slot := range worked {
			spent += slot.Spent
			if region := ingest.Region(slot.Key); slot.Kind == ingest.KindChart && len(m.chart[region]) > charts[region] {
				wholeAt[numbered{region, len(m.chart[region])}] = slot.DueAt
			}
		}
		if spent != int64(m.calls-calls) {
			rt.Errorf("day %d: %d units for %d calls", hour/24, spent, m.calls-calls)
		}
		latest, err := s.Latest(t.Context(), b.now)
		if err != nil {
			rt.Fatal(err)
		}
		for _, region := range worldly {
			whole, want := latest.Whole(ingest.Series{Job: "chart", Key: string(region)}), wholeAt[numbered{region, m.whole[region]}]
			if !whole.DueAt.Equal(want) {
				rt.Errorf("day %d: the newest whole chart of %s is of %v, and %v was the last that was complete: %v", hour/24, region, whole.DueAt, want, m.chart[region])
			}
		}
		kept := map[string]bool{}
		for ids, err := range s.Older(t.Context(), b.now.Add(time.Hour), 999) {
			if err != nil {
				rt.Fatal(err)
			}
			for _, id := range ids {
				kept[id] = true
			}
		}
		for id, at := range m.given {
			if m.has(id) && !kept[id] && b.now.Sub(at) < ingest.KeepFor {
				rt.Errorf("day %d: %s is deleted, %v after it came, and the upstream has it", hour/24, id, b.now.Sub(at))
			}
		}
	}
}

// planWorldly plans a backfill of some of the videos, and of some that no chart has.
func planWorldly(t *testing.T, rt *rapid.T, s *store.Store, now time.Time) ingest.Backfill {
	from := rapid.IntRange(0, 40).Draw(rt, "backfill from")
	b, _, err := s.AddBackfill(t.Context(), ingest.Backfill{Kind: ingest.BackfillVideos, Created: now}, func(yield func(ingest.Piece, error) bool) {
		for piece := range 2 {
			var ids []string
			for i := range 15 {
				ids = append(ids, fmt.Sprintf("v%02d", from+15*piece+i))
			}
			if !yield(ingest.IDPiece(piece, ids), nil) {
				return
			}
		}
	})
	if err != nil {
		rt.Fatal(err)
	}
	return b
}

// worlds plays so many random worlds.
func worlds(t *testing.T, n int) {
	t.Helper()
	before := flag.Lookup("rapid.checks").Value.String()
	if err := flag.Set("rapid.checks", "1"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = flag.Set("rapid.checks", before) }()
	for i := range n {
		t.Run(fmt.Sprint(i), func(t *testing.T) { rapid.Check(t, func(rt *rapid.T) { liveThrough(t, rt) }) })
	}
}

func TestNoRandomAnswersDeleteExistingVideos(t *testing.T) { worlds(t, 3) }

// SOAK has a thousand worlds, which take ten minutes.
func TestLongNoRandomAnswersDeleteExistingVideos(t *testing.T) {
	n := 50
	if os.Getenv("SOAK") != "" {
		n = 1000
	}
	worlds(t, n)
}
