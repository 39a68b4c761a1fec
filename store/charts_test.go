package store_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
)

func TestRealChartsComeBackAsTheyWere(t *testing.T) {
	alone(t)
	s, _ := newStore(t)
	ids := map[string]bool{}
	placements := 0
	for _, region := range realRegions {
		days := realCharts(t, region)
		for d := time.Date(2026, 2, 11, 0, 0, 0, 0, time.UTC); d.Day() <= 14; d = d.AddDate(0, 0, 1) {
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
		t.Errorf("%d bytes a placement with its index, want at most 60", per)
	}
}
