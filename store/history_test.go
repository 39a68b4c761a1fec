package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// chartOf is chart for a job of another name.
func chartOf(t testing.TB, s *store.Store, job, region string, at time.Time, videos ...ingest.Video) {
	t.Helper()
	slot := due(region, at)
	slot.Job = job
	addDue(t, s, slot)
	c := by("test", at)
	c.Series = map[ingest.Series]bool{{Job: job, Key: region}: true}
	slot = claim(t, s, c)
	slot.Pages, slot.FetchedAt, slot.State = 1, at, ingest.Done
	if _, err := s.SavePage(t.Context(), slot, page(videos...)); err != nil {
		t.Fatal(err)
	}
}

func TestOfSeveralChartsOfARegionOneIsMeant(t *testing.T) {
	s, _ := newStore(t)
	chartOf(t, s, "gaming", "US", noon, titled("g", "G"))
	chartOf(t, s, "music", "US", noon.Add(minutes(1)), titled("m", "M"))
	chartOf(t, s, "music", "DE", noon, titled("d", "D"))
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
	chartOf(t, s, "chart", "US", noon.Add(-minutes(30)), titled("c", "C"))
	for query, want := range map[store.ChartQuery]string{
		{Region: "US"}:                              "chart c",
		{Region: "US", Job: "music"}:                "music m",
		{Region: "US", Job: "gaming"}:               "gaming g",
		{Region: "DE"}:                              "music d",
		{Region: "DE", Job: "gaming"}:               `no complete chart of DE by job "gaming" (there are some by music): no chart is stored`,
		{Region: "US", Job: "music", At: noon}:      `no complete chart of US by job "music" at or before 2026-02-14T12:00:00Z, the oldest is of 2026-02-14T12:01:00Z: no chart is stored`,
		{Region: "FR", Job: "music", Partial: true}: `no chart of FR by job "music": no chart is stored`,
	} {
		if got := find(query); got != want {
			t.Errorf("%+v: %s, want %s", query, got, want)
		}
	}
}

func TestACompareNamesEveryChange(t *testing.T) {
	placed := func(ids string) store.Chart {
		var c store.Chart
		for i, id := range strings.Fields(ids) {
			c.Items = append(c.Items, ingest.Placement{Rank: i + 1, Video: withViews(titled(id, id), int64(100*len(ids)+i))})
		}
		return c
	}
	older, newer := placed("a b c d e"), placed("b a x c y d")
	older.Items[3].Video.Views = nil
	var got []string
	for _, m := range store.Compare(older, newer) {
		got = append(got, fmt.Sprintf("%s %s %d<-%d %s", m.Video.ID, m.Change, m.Rank, m.Was, number(m.Gained)))
	}
	want := []string{
		"b risen 1<-2 199", "a fallen 2<-1 201", "x new 3<-0 -", "c fallen 4<-3 201", "y new 5<-0 -", "d fallen 6<-4 -", "e gone 5<-5 -",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if moves := store.Compare(older, older); len(moves) != 5 || slices.ContainsFunc(moves, func(m store.Move) bool { return m.Change != store.Same }) {
		t.Errorf("with itself: %+v", moves)
	}
	if moves := store.Compare(store.Chart{}, older); len(moves) != 5 || moves[0].Change != store.New {
		t.Errorf("with nothing: %+v", moves)
	}
}

func TestRealChartsCompareAsTheirRowsDo(t *testing.T) {
	s, _ := newStore(t)
	for _, region := range []string{"US", "IN"} {
		days := realCharts(t, region)
		a, b := days["2026-02-13"], days["2026-02-14"]
		chart(t, s, region, noon.AddDate(0, 0, -1), page(a...))
		chart(t, s, region, noon, page(b...))
		var charts [2]store.Chart
		for i := range charts {
			var err error
			if charts[i], err = s.Chart(t.Context(), ingest.Region(region), noon.AddDate(0, 0, i-1), false); err != nil {
				t.Fatal(err)
			}
		}
		rank := func(videos []ingest.Video, id string) int {
			return slices.IndexFunc(videos, func(v ingest.Video) bool { return v.ID == id }) + 1
		}
		gone := 0
		for _, m := range store.Compare(charts[0], charts[1]) {
			was, is := rank(a, m.Video.ID), rank(b, m.Video.ID)
			want := map[bool]store.Change{true: store.Risen, false: store.Fallen}[is < was]
			switch {
			case was == 0:
				want = store.New
			case is == 0:
				want = store.Gone
				gone++
			case was == is:
				want = store.Same
			}
			if m.Change != want || m.Was != was || is > 0 && m.Rank != is {
				t.Errorf("%s %s: %s from %d to %d, want %s from %d to %d", region, m.Video.ID, m.Change, m.Was, m.Rank, want, was, is)
			}
		}
		if gone == 0 {
			t.Errorf("%s: nothing is gone after a day", region)
		}
	}
}

func TestAHistoryIsAVideosPath(t *testing.T) {
	s, _ := newStore(t)
	v, other := titled("a", "A"), titled("b", "B")
	chart(t, s, "US", noon, page(withViews(v, 100), other))
	chart(t, s, "US", noon.Add(minutes(30)), page(other, withViews(v, 150)))
	chart(t, s, "US", noon.Add(minutes(60)), page(other))
	hidden := v
	hidden.Views = nil
	chart(t, s, "US", noon.Add(minutes(90)), page(hidden))
	chart(t, s, "DE", noon.Add(minutes(30)), page(withViews(v, 90)))
	chart(t, s, "US", noon.Add(minutes(120)), page(withViews(v, 140)))
	addDue(t, s, due("US", noon.Add(minutes(150))))
	cut := claim(t, s, by("a", noon.Add(minutes(150))))
	cut.Pages = 1
	cut, err := s.SavePage(t.Context(), cut, page(withViews(v, 145)))
	if err != nil {
		t.Fatal(err)
	}
	finish(t, s, cut, ingest.Stopped, "units are spent")
	path := func(q store.HistoryQuery) string {
		q.VideoID = "a"
		h, err := s.History(t.Context(), q)
		if err != nil || h.Video.Title != "A" {
			t.Fatalf("%+v, %v", h.Video, err)
		}
		var parts []string
		for _, at := range h.Sightings {
			parts = append(parts, fmt.Sprintf("%s+%.0f #%d %s %s", at.Region, at.Slot.Sub(noon).Minutes(), at.Rank, number(at.Views), number(at.Gained)))
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
		t.Errorf("an unknown video: %v", err)
	}
}
