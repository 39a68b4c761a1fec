package storetest

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

func testAChartIsTheNewestCompleteOne(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	at := func(h int) time.Time { return noon.Add(time.Duration(h) * time.Hour) }
	Chart(t, s, "US", at(0), Page(Titled("a", "A")))
	Chart(t, s, "US", at(1), Page(Titled("b", "B")))
	AddDue(t, s, Due("US", at(2)))
	slot := Claim(t, s, By("a", at(2)))
	slot.Pages = 1
	slot, err := s.SavePage(t.Context(), slot, Page(Titled("c", "C")))
	if err != nil {
		t.Fatal(err)
	}
	Finish(t, s, slot, ingest.Stopped, "units are spent")
	Chart(t, s, "GB", at(3), Page(Titled("d", "D")))
	clock.move(4 * time.Hour)
	tests := []struct {
		name    string
		at      time.Time
		partial bool
		want    string
		slot    time.Time
	}{
		{"now", time.Time{}, false, "b", at(1)},
		{"now, partial", time.Time{}, true, "c", at(2)},
		{"at a slot", at(0), false, "a", at(0)},
		{"between slots", at(1).Add(-time.Second), true, "a", at(0)},
		{"later", at(9), false, "b", at(1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := s.Chart(t.Context(), "US", tt.at, tt.partial)
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Items) != 1 || c.Items[0].Video.ID != tt.want || !c.Slot.Equal(tt.slot) || c.Job != "chart" ||
				c.FetchedAt.IsZero() {
				t.Errorf("got %+v", c)
			}
		})
	}
	if tops, err := s.TopTitles(t.Context(), []string{"US", "GB", "FR"}); err != nil ||
		!maps.Equal(tops, map[string]string{"US": "B", "GB": "D"}) {
		t.Errorf("the first titles are %v, %v", tops, err)
	}
	for region, when := range map[ingest.Region]time.Time{"FR": {}, "US": at(-1)} {
		if _, err := s.Chart(t.Context(), region, when, true); !errors.Is(err, store.ErrNoChart) ||
			!strings.Contains(err.Error(), string(region)) {
			t.Errorf("%s: %v, want ErrNoChart", region, err)
		}
		had, err := s.Charted(t.Context(), ingest.Series{Job: "chart", Key: string(region)})
		if err != nil || had != (region == "US") {
			t.Errorf("%s had a chart: %v, %v", region, had, err)
		}
	}
}

// A chart that comes back empty, or with less than a third of the usual size, is stored; the newest whole one is
// shown.
func testAShortChartIsStoredButNotShown(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	at := func(h int) time.Time { return noon.Add(time.Duration(h) * time.Hour) }
	for h, step := range []struct {
		videos int
		cut    bool // the job ends the chart after one page of two
		want   string
	}{
		{9, false, "whole 0"},
		{10, false, "whole 1"},
		{8, false, "whole 2"},
		{2, false, "whole 2, short since 3, then 2"},
		{0, false, "whole 2, short since 3, then 0"},
		{3, false, "whole 5"}, // a third of the median
		{2, true, "whole 6"},  // no chart before was cut like that
		{0, false, "whole 6, short since 7, then 0"},
		{9, true, "whole 8"},
		{1, true, "whole 8, short since 9, then 1"},
		{3, false, "whole 10"},
	} {
		pages := []ingest.Page{{Next: "more"}, {}}
		for i := range step.videos {
			pages[0].Videos = append(pages[0].Videos, Titled(fmt.Sprint("video", i), "title"))
		}
		if step.cut {
			pages = pages[:1]
		}
		Chart(t, s, "US", at(h), pages...)
		clock.move(at(h).Sub(clock.now()))
		if got := wholeChart(t, s, at(h)); got != step.want {
			t.Errorf("hour %d, %d videos: %s, want %s", h, step.videos, got, step.want)
		}
	}
	if c, err := s.Chart(t.Context(), "US", at(3), true); err != nil || !c.Slot.Equal(at(3)) ||
		!c.Partial || len(c.Items) != 2 {
		t.Errorf("the short chart, asked for: %+v, %v", c, err)
	}
	Chart(t, s, "GB", at(7), Page())
	if _, err := s.Chart(t.Context(), "GB", time.Time{}, false); !errors.Is(err, store.ErrNoChart) ||
		!strings.Contains(err.Error(), "came back empty") {
		t.Errorf("a region whose charts are all empty: %v, want error %v and \"came back empty\" in it", err, store.ErrNoChart)
	}
}

// wholeChart returns the hour of the newest whole chart of US, and since when the others are short, on which the slots
// and the chart must agree.
func wholeChart(t *testing.T, s *store.Store, now time.Time) string {
	t.Helper()
	us := ingest.Series{Job: "chart", Key: "US"}
	l, err := s.Latest(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Chart(t.Context(), "US", time.Time{}, false)
	if err != nil {
		t.Fatal(err)
	}
	short, is := l.Short[us]
	if is != l.Done[us].Short() || !c.Slot.Equal(l.Whole(us).DueAt) || !c.ShortSince.Equal(short.Since.DueAt) {
		t.Errorf("the newest slot is %+v, the series %+v; the chart is of %v, short since %v",
			l.Done[us], short, c.Slot, c.ShortSince)
	}
	said := fmt.Sprint("whole ", int(c.Slot.Sub(noon).Hours()))
	if is {
		said += fmt.Sprint(", short since ", int(c.ShortSince.Sub(noon).Hours()), ", then ", c.ShortVideos)
	}
	return said
}

// A chart of a run whose clock was ahead hides no newer chart.
func testAChartInTheFutureIsNotShown(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	Chart(t, s, "US", noon, Page(Titled("a", "A b")))
	clock.move(24 * time.Hour)
	for _, region := range []string{"US", "GB"} {
		Chart(t, s, region, clock.now(), Page(Titled("a", "A b"), Titled("c", "C")))
	}
	now := clock.move(-23 * time.Hour)
	for _, at := range []time.Time{{}, now, now.Add(48 * time.Hour)} {
		c, err := s.Chart(t.Context(), "US", at, true)
		if err != nil || !c.Slot.Equal(noon) || !c.Later.IsZero() || len(c.Items) != 1 {
			t.Errorf("at %v: %+v, %v", at, c, err)
		}
		also, err := s.Elsewhere(t.Context(), "chart", "US", at, []string{"a"})
		if err != nil || len(also) > 0 {
			t.Errorf("at %v also in %v, %v, want none", at, also, err)
		}
	}
	if c, err := s.Chart(t.Context(), "GB", time.Time{}, false); err != nil || len(c.Items) != 2 {
		t.Errorf("GB has no other, and the clock may be behind: %+v, %v", c, err)
	}
	if h, err := s.History(t.Context(), store.HistoryQuery{VideoID: "a"}); err != nil || len(h.Sightings) != 1 {
		t.Errorf("history: %+v, %v, want one", h.Sightings, err)
	}
	if r, err := s.Search(t.Context(), store.SearchQuery{Text: "b"}); err != nil || !r.FreshAt.Equal(noon) {
		t.Errorf("a search says that it was fetched at %v, %v", r.FreshAt, err)
	}
}

func testHistoryKeepsTheCountsOfItsTime(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	v := Titled("a", "A")
	Chart(t, s, "US", noon, Page(v))
	v.Views, v.Likes = Count(1e12), nil
	Chart(t, s, "US", clock.move(time.Hour), Page(v))
	old, err := s.Chart(t.Context(), "US", noon, false)
	if err != nil {
		t.Fatal(err)
	}
	now, err := s.Chart(t.Context(), "US", time.Time{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := old.Items[0].Video; *got.Views != 100 || *got.Likes != 10 {
		t.Errorf("then: %+v, want Views 100 and Likes 10", got)
	}
	if got := now.Items[0].Video; *got.Views != 1e12 || got.Likes != nil {
		t.Errorf("now: %+v", got)
	}
}
