package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
)

// moody is an upstream that answers at random: true, blank, short, with an earlier answer, without some of the videos, or
// not at all. It keeps two rules, which are the reach of the promise that nothing is deleted that it has. An answer that
// a reader may take for the truth leaves out a video for less than an hour, and then has it again. Other answers leave out
// any videos.
type moody struct {
	*rapid.T

	now   func() time.Time
	bad   bool                 // today not all answers are true
	gone  map[string]time.Time // since when it has a video no more
	calls []arrival            // that it has counted
	last  ingest.Page          // the answer before
	told  telling

	witnesses []string             // that the store has chosen last
	given     map[string]time.Time // when an answer last had a video that was asked for
	hidden    map[string]time.Time // since when plausible answers have left out a video
	lookUps   int                  // answers to look-ups of stored videos that were not true
}

// arrival is a call's time and cost.
type arrival struct {
	at    time.Time
	units int64
}

// units returns the cost of the calls since a time.
func (m *moody) units(since time.Time) (units int64) {
	for _, call := range m.calls {
		if !call.at.Before(since) {
			units += call.units
		}
	}
	return units
}

// telling are the lengths of the charts that were answered.
type telling struct {
	charts map[ingest.Region][]int
	whole  map[ingest.Region]int // the newest that was complete, from 1; 0: none
}

var worldly = []ingest.Region{"US", "GB", "DE"}

func newMoody(rt *rapid.T, now func() time.Time) *moody {
	m := &moody{T: rt, now: now, gone: map[string]time.Time{}, given: map[string]time.Time{}, hidden: map[string]time.Time{}}
	m.told = telling{map[ingest.Region][]int{}, map[ingest.Region]int{}}
	for range rapid.IntRange(0, 40).Draw(rt, "gone") {
		id := videoName(rapid.IntRange(0, 200).Draw(rt, "gone video"))
		m.gone[id] = start.AddDate(0, 0, rapid.IntRange(0, 40).Draw(rt, "gone on day"))
	}
	return m
}

func videoName(n int) string { return fmt.Sprintf("v%03d", n) }

func (m *moody) day() int { return int(m.now().Sub(start) / (24 * time.Hour)) }

func (m *moody) Limits() fetch.Limits {
	return fetch.Limits{IDsPerCall: 50, PerPage: 50, ChartPages: 1, SearchPages: 1}
}

func (m *moody) has(id string) bool {
	since, gone := m.gone[id]
	return !gone || m.now().Before(since)
}

// answer returns the answer to a question about ids. witnesses are asked for in it, and known to be there.
func (m *moody) answer(ids, witnesses []string) (page ingest.Page, err error) {
	var truth []ingest.Video
	for _, id := range ids {
		if m.has(id) {
			truth = append(truth, ingest.Video{ID: id, Title: "title"})
		}
	}
	mood := "true"
	if m.bad {
		mood = rapid.SampledFrom([]string{"true", "blank", "short", "repeated", "forgetful", "forgetful", "failing", "unsent"}).Draw(m.T, "mood")
	}
	failed := &fetch.Error{Verdict: fetch.Broken, Method: "videos.list", Err: errors.New("broken")}
	if mood == "unsent" {
		failed.Verdict = fetch.Unsent
		return page, failed
	}
	m.calls = append(m.calls, arrival{m.now(), 1})
	switch mood {
	case "blank":
	case "short":
		page.Videos = truth[:len(truth)/rapid.IntRange(2, 10).Draw(m.T, "short by")]
	case "repeated":
		page = m.last
	case "forgetful": // of the videos that it has not shown for longest
		slices.SortStableFunc(truth, func(a, b ingest.Video) int { return m.given[a.ID].Compare(m.given[b.ID]) })
		page.Videos = truth[min(len(truth), rapid.IntRange(0, max(1, len(ids)/4)).Draw(m.T, "forgotten")):]
	case "failing":
		return page, failed
	default:
		page.Videos = truth
	}
	page.Videos = m.keepRules(ids, witnesses, page.Videos)
	m.last = page
	return page, nil
}

// keepRules adds to a plausible answer the videos that may not be left out of it.
func (m *moody) keepRules(ids, witnesses []string, videos []ingest.Video) []ingest.Video {
	came := map[string]bool{}
	for _, v := range videos {
		came[v.ID] = true
	}
	var lacks, silent []string
	for _, id := range ids {
		switch {
		case came[id]:
		case slices.Contains(witnesses, id):
			silent = append(silent, id)
		default:
			lacks = append(lacks, id)
		}
	}
	if len(lacks)+len(silent) > 0 {
		m.lookUps++
	}
	plausible := len(ids) < 5 || 5*(len(lacks)+len(silent)) <= len(ids)
	if len(witnesses) >= 5 {
		plausible = len(silent) == 0
	}
	for _, id := range lacks {
		since, hidden := m.hidden[id]
		switch {
		case !plausible || !m.has(id):
		case !hidden:
			m.hidden[id] = m.now()
		case m.now().Sub(since) >= time.Hour:
			videos = append(slices.Clone(videos), ingest.Video{ID: id, Title: "title"})
		}
	}
	for _, v := range videos {
		if slices.Contains(ids, v.ID) {
			m.given[v.ID] = m.now()
			delete(m.hidden, v.ID)
		}
	}
	return videos
}

// Chart has 20 videos; four of them leave it each day.
func (m *moody) Chart(region ingest.Region, _, _ string) fetch.Call[ingest.Page] {
	return fetch.Call[ingest.Page]{Method: "videos.list", Region: region, Do: func(context.Context) (ingest.Page, error) {
		var ids []string
		for i := range 20 {
			ids = append(ids, videoName(4*m.day()+i+15*slices.Index(worldly, region)))
		}
		page, err := m.answer(ids, nil)
		if err == nil {
			m.told.chart(region, len(page.Videos))
		}
		return page, err
	}}
}

// chart notes a chart of n videos: it is complete if it has a third of the median of the last ten that had any.
func (t *telling) chart(region ingest.Region, n int) {
	var before []int
	for _, videos := range slices.Backward(t.charts[region]) {
		if videos > 0 && len(before) < 10 {
			before = append(before, videos)
		}
	}
	slices.Sort(before)
	t.charts[region] = append(t.charts[region], n)
	if n > 0 && (len(before) == 0 || n*3 >= before[len(before)/2]) {
		t.whole[region] = len(t.charts[region])
	}
}

func (m *moody) Videos(ids []string) fetch.Call[ingest.Page] {
	var witnesses []string
	for _, id := range ids {
		if slices.Contains(m.witnesses, id) {
			witnesses = append(witnesses, id)
		}
	}
	m.witnesses = nil
	return fetch.Call[ingest.Page]{Method: "videos.list", Do: func(context.Context) (ingest.Page, error) { return m.answer(ids, witnesses) }}
}

// Search finds some of the videos of the charts up to now, and others that it never finds again: no chart has them, so no
// refresh asks for them, and they stay until they are too old.
func (m *moody) Search(ingest.Query, string) fetch.Call[ingest.Found] {
	return fetch.Call[ingest.Found]{Method: "search.list", Do: func(context.Context) (found ingest.Found, _ error) {
		m.calls = append(m.calls, arrival{m.now(), 100})
		from := rapid.IntRange(0, 4*m.day()+30).Draw(m.T, "found from")
		for i := range rapid.IntRange(1, 40).Draw(m.T, "found") {
			if found.IDs = append(found.IDs, videoName(from+i)); i%3 == 2 {
				found.IDs[i] = videoName(1000 + 40*m.day() + i)
			}
		}
		return found, nil
	}}
}
