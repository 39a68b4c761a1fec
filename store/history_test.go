package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

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
	alone(t)
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
