package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
)

// A chart is compared with the one before it in its own series, whole ones only, in the first fifty places.
func TestChartMovesCountWhatIsNew(t *testing.T) {
	s, _ := newStore(t)
	at := func(h int) time.Time { return noon.Add(time.Duration(h) * time.Hour) }
	chart(t, s, "US", at(-200), page(titled("old", "too long ago")))
	chart(t, s, "US", at(0), page(titled("a", "A"), titled("b", "B")))
	chart(t, s, "GB", at(1), page(titled("c", "C")))
	addDue(t, s, due("US", at(2)))
	slot := claim(t, s, by("a", at(2)))
	slot.Pages = 1
	slot, err := s.SavePage(t.Context(), slot, page(titled("d", "in a part of a chart")))
	if err != nil {
		t.Fatal(err)
	}
	finish(t, s, slot, ingest.Stopped, "units are spent")
	chart(t, s, "US", at(3), page(titled("b", "B"), titled("c", "C"), titled("d", "D")))
	chart(t, s, "US", at(4), page(titled("b", "B")))
	var many []ingest.Video
	for i := range 60 {
		many = append(many, titled(fmt.Sprintf("v%d", i), "V"))
	}
	chart(t, s, "GB", at(5), page(many[:30]...), page(many[30:]...))
	want := []ingest.ChartMove{
		{Key: "GB", From: at(1), To: at(5), New: 50},
		{Key: "US", From: at(0), To: at(3), New: 2},
		{Key: "US", From: at(3), To: at(4), New: 0},
	}
	if got, err := s.ChartMoves(t.Context(), "chart", at(6)); err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if got, err := s.ChartMoves(t.Context(), "music", at(6)); err != nil || len(got) != 0 {
		t.Errorf("of another job: %+v, %v", got, err)
	}
	for i := range 30 {
		chart(t, s, "DE", at(6+i), page(titled("a", "A")))
	}
	if got, err := s.ChartMoves(t.Context(), "chart", at(36)); err != nil || len(got) != 24+len(want) {
		t.Errorf("%d moves, %v: want 24 of DE", len(got), err)
	}
}
