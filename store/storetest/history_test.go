package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// chartOf saves a chart like Chart, for a job of another name.
func chartOf(t testing.TB, s *store.Store, job, region string, at time.Time, videos ...ingest.Video) {
	t.Helper()
	slot := Due(region, at)
	slot.Job = job
	AddDue(t, s, slot)
	c := By("test", at)
	c.Series = map[ingest.Series]bool{{Job: job, Key: region}: true}
	slot = Claim(t, s, c)
	slot.Pages, slot.FetchedAt, slot.State = 1, at, ingest.Done
	if _, err := s.SavePage(t.Context(), slot, Page(videos...)); err != nil {
		t.Fatal(err)
	}
}

func testOfSeveralChartsOfARegionOneIsMeant(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	chartOf(t, s, "gaming", "US", noon, Titled("g", "G"))
	chartOf(t, s, "music", "US", noon.Add(minutes(1)), Titled("m", "M"))
	chartOf(t, s, "music", "DE", noon, Titled("d", "D"))
	find := func(q store.ChartQuery) string {
		c, err := s.FindChart(t.Context(), q)
		if errors.Is(err, store.ErrNoChart) {
			return strings.TrimPrefix(err.Error(), "read a chart: ")
		}
		if err != nil {
			t.Fatal(err)
		}
		return c.Job + " " + c.Items[0].Video.ID
	}
	if got := find(store.ChartQuery{Region: "US"}); got != "gaming g" { // the first
		t.Errorf("without a job named chart: %s", got)
	}
	chartOf(t, s, "chart", "US", noon.Add(-minutes(30)), Titled("c", "C"))
	for query, want := range map[store.ChartQuery]string{
		{Region: "US"}:                "chart c",
		{Region: "US", Job: "music"}:  "music m",
		{Region: "US", Job: "gaming"}: "gaming g",
		{Region: "DE"}:                "music d",
		{Region: "DE", Job: "gaming"}: `no complete chart of DE by job "gaming" (there are some by music) is stored`,
		{Region: "US", Job: "music", At: noon}: `no complete chart of US by job "music" (there are some by chart, gaming) ` +
			`at or before 2026-02-14 12:00:00Z is stored, the oldest is of 2026-02-14 12:01:00Z`,
		{Region: "FR", Job: "music", Partial: true}: `no chart of FR by job "music" is stored`,
	} {
		if got := find(query); got != want {
			t.Errorf("%+v: %s, want %s", query, got, want)
		}
	}
}

func testOnlyCompleteChartsAreKeptToChooseFrom(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	chartOf(t, s, "music", "US", noon, Titled("m", "M"))
	for _, at := range []int{60, 0, 30} {
		chartOf(t, s, "chart", "US", noon.Add(minutes(at)), Titled("c", "C"))
	}
	chartOf(t, s, "chart", "DE", noon.Add(minutes(30)), Titled("d", "D"))
	AddDue(t, s, Due("US", noon.Add(minutes(90))))
	cut := Claim(t, s, By("a", noon.Add(minutes(90))))
	cut.Pages, cut.State = 1, ingest.Stopped
	if _, err := s.SavePage(t.Context(), cut, Page(Titled("e", "E"))); err != nil {
		t.Fatal(err)
	}
	chartOf(t, s, "chart", "US", noon.Add(minutes(600)), Titled("f", "F"))
	clock.move(2 * time.Hour)
	kept, err := s.KeptCharts(t.Context(), "US", "chart")
	if want := []time.Time{noon, noon.Add(minutes(30)), noon.Add(minutes(60))}; err != nil ||
		!slices.EqualFunc(kept, want, time.Time.Equal) {
		t.Errorf("%v, %v, want %v", kept, err, want)
	}
}

func testAHistoryIsAVideosPath(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	v, other := Titled("a", "A"), Titled("b", "B")
	Chart(t, s, "US", noon, Page(withViews(v, 100), other))
	Chart(t, s, "US", noon.Add(minutes(30)), Page(other, withViews(v, 150)))
	Chart(t, s, "US", noon.Add(minutes(60)), Page(other))
	hidden := v
	hidden.Views = nil
	Chart(t, s, "US", noon.Add(minutes(90)), Page(hidden))
	Chart(t, s, "DE", noon.Add(minutes(30)), Page(withViews(v, 90)))
	Chart(t, s, "US", noon.Add(minutes(120)), Page(withViews(v, 140)))
	AddDue(t, s, Due("US", noon.Add(minutes(150))))
	cut := Claim(t, s, By("a", noon.Add(minutes(150))))
	cut.Pages = 1
	cut, err := s.SavePage(t.Context(), cut, Page(withViews(v, 145)))
	if err != nil {
		t.Fatal(err)
	}
	Finish(t, s, cut, ingest.Stopped, "units are spent")
	clock.move(3 * time.Hour)
	path := func(q store.HistoryQuery) string {
		q.VideoID = "a"
		h, err := s.History(t.Context(), q)
		if err != nil || h.Video.Title != "A" {
			t.Fatalf("%+v, %v, want \"A\"", h.Video, err)
		}
		var parts []string
		for _, at := range h.Sightings {
			parts = append(parts, fmt.Sprintf("%s+%.0f #%d %s %s", at.Region, at.Slot.Sub(noon).Minutes(),
				*at.Rank, shown(at.Views), shown(at.Gained)))
		}
		return strings.Join(parts, "; ")
	}
	tests := []struct {
		query store.HistoryQuery
		want  string
	}{
		{store.HistoryQuery{}, "US+0 #1 100 -; DE+30 #1 90 -; US+30 #2 150 50; US+90 #1 - -; US+120 #1 140 -"},
		{store.HistoryQuery{Region: "DE"}, "DE+30 #1 90 -"},
		{store.HistoryQuery{Region: "FR"}, ""},
		{store.HistoryQuery{Job: "music"}, ""},
		{store.HistoryQuery{Since: noon.Add(minutes(90))}, "US+90 #1 - -; US+120 #1 140 -"},
		{store.HistoryQuery{Since: noon.Add(minutes(120)), Partial: true}, "US+120 #1 140 -; US+150 #1 145 5"},
	}
	for _, tt := range tests {
		if got := path(tt.query); got != tt.want {
			t.Errorf("%+v: %s\nwant %s", tt.query, got, tt.want)
		}
	}
	if _, err := s.History(t.Context(), store.HistoryQuery{VideoID: "nobody"}); !errors.Is(err, store.ErrNoVideo) {
		t.Errorf("an unknown video: %v, want error %v", err, store.ErrNoVideo)
	}
}

func testACourseIsAVideosWayThroughOneChart(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	v, other := Titled("a", "A"), Titled("b", "B")
	Chart(t, s, "US", noon.Add(-48*time.Hour), Page(v))
	Chart(t, s, "US", noon, Page(other, v))
	Chart(t, s, "DE", noon, Page(v, other))
	Chart(t, s, "US", noon.Add(minutes(30)), Page(other))
	Chart(t, s, "US", noon.Add(minutes(60)), Page(other, v))
	clock.move(2 * time.Hour)
	for at, want := range map[time.Time]string{
		{}:                        "a 2026-02-12T12:00:00Z 1 [2 0 2] b 2026-02-14T12:00:00Z 1 [1 1 1]",
		noon.Add(minutes(30)):     "a 2026-02-12T12:00:00Z 1 [2 0] b 2026-02-14T12:00:00Z 1 [1 1]",
		noon.Add(-24 * time.Hour): "a 2026-02-12T12:00:00Z 1 []",
	} {
		courses, err := s.Courses(t.Context(), "US", "chart", at, []string{"a", "b", "none"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, id := range slices.Sorted(maps.Keys(courses)) {
			c := courses[id]
			got = append(got, fmt.Sprintf("%s %s %d %v", id, c.Since.UTC().Format(time.RFC3339), c.Peak, c.Ranks))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("at %v: %s, want %s", at, text, want)
		}
	}
	if courses, err := s.Courses(t.Context(), "FR", "chart", time.Time{}, []string{"a"}); err != nil || len(courses) > 0 {
		t.Errorf("of a region without charts: %v, %v", courses, err)
	}
}
