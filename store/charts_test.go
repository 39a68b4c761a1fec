package store_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

func TestAChartIsTheNewestCompleteOne(t *testing.T) {
	s, _ := newStore(t)
	at := func(h int) time.Time { return noon.Add(time.Duration(h) * time.Hour) }
	chart(t, s, "US", at(0), page(titled("a", "A")))
	chart(t, s, "US", at(1), page(titled("b", "B")))
	addDue(t, s, due("US", at(2)))
	slot := claim(t, s, by("a", at(2)))
	slot.Pages = 1
	slot, err := s.SavePage(t.Context(), slot, page(titled("c", "C")))
	if err != nil {
		t.Fatal(err)
	}
	finish(t, s, slot, ingest.Stopped, "units are spent")
	chart(t, s, "GB", at(3), page(titled("d", "D")))
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
			if len(c.Items) != 1 || c.Items[0].Video.ID != tt.want || !c.Slot.Equal(tt.slot) || c.Job != "chart" || c.FetchedAt.IsZero() {
				t.Errorf("got %+v", c)
			}
		})
	}
	for region, when := range map[ingest.Region]time.Time{"FR": {}, "US": at(-1)} {
		if _, err := s.Chart(t.Context(), region, when, true); !errors.Is(err, store.ErrNoChart) || !strings.Contains(err.Error(), string(region)) {
			t.Errorf("%s: %v, want ErrNoChart", region, err)
		}
	}
}

func TestHistoryKeepsTheCountsOfItsTime(t *testing.T) {
	s, clock := newStore(t)
	v := titled("a", "A")
	chart(t, s, "US", noon, page(v))
	v.Views, v.Likes = count(1e12), nil
	chart(t, s, "US", clock.move(time.Hour), page(v))
	old, err := s.Chart(t.Context(), "US", noon, false)
	if err != nil {
		t.Fatal(err)
	}
	now, err := s.Chart(t.Context(), "US", time.Time{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := old.Items[0].Video; *got.Views != 100 || *got.Likes != 10 {
		t.Errorf("then: %+v", got)
	}
	if got := now.Items[0].Video; *got.Views != 1e12 || got.Likes != nil {
		t.Errorf("now: %+v", got)
	}
}

func TestRealChartsComeBackAsTheyWere(t *testing.T) {
	s, _ := newStore(t)
	ids := map[string]bool{}
	placements, last := 0, 14
	if raced {
		last = 6
	}
	for _, region := range realRegions {
		days := realCharts(t, region)
		for d := time.Date(2026, 2, 5, 0, 0, 0, 0, time.UTC); d.Day() <= last; d = d.AddDate(0, 0, 1) {
			videos := days[d.Format(time.DateOnly)]
			chart(t, s, region, d, page(videos...))
			for _, v := range videos {
				ids[v.ID] = true
			}
			placements += len(videos)
			c, err := s.Chart(t.Context(), ingest.Region(region), d, false)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range videos {
				if got := c.Items[i]; got.Rank != i+1 || !reflect.DeepEqual(got.Video, v) {
					t.Fatalf("%s %v: got %+v\nwant %+v", region, d, got, v)
				}
			}
		}
	}
	db := raw(t, s.Path())
	if n := scalar[int](t, db, `SELECT count(*) FROM videos`); n != len(ids) {
		t.Errorf("%d videos stored, %d were charted", n, len(ids))
	}
	if n := scalar[int](t, db, `SELECT count(*) FROM placements`); n != placements {
		t.Errorf("%d placements stored of %d", n, placements)
	}
	bytes := scalar[int](t, db, `SELECT sum(pgsize) FROM dbstat WHERE name IN ('placements', 'placements_video')`)
	if per := bytes / placements; per > 60 {
		t.Errorf("%d bytes a placement with its index", per)
	}
}
