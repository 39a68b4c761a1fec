package standing_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
)

// A slot that is due after the hour when the provider may refuse comes then or later, and every list of slots and series
// says so.
func TestASlotThatMayBeRefusedComesThenOrLater(t *testing.T) {
	slower := func(f *standing.Facts) {
		f.Forecast.Fits, f.Forecast.State = false, budget.Slower
		f.Forecast.SureUntil, f.Forecast.Until = noon.Add(20*time.Minute), noon.Add(20*time.Hour)
	}
	const from1220 = "or later: the provider may refuse from 2026-02-14 12:20:00Z on"
	for _, tt := range []struct {
		name   string
		make   func(*standing.Facts)
		de, us string // due at 12:15 and 12:30
	}{
		{"all is well", func(*standing.Facts) {}, "", ""},
		{"a plan that rests on a refusal", slower, "", from1220},
		{"a slot at the very hour", func(f *standing.Facts) { slower(f); f.Forecast.SureUntil = noon.Add(30 * time.Minute) }, "",
			"or later, if the provider refuses again"},
		{"slots of the next day", func(f *standing.Facts) { slower(f); f.Forecast.Until = noon.Add(25 * time.Minute) }, "", ""},
		{"a plan that fits", func(f *standing.Facts) { slower(f); f.Forecast.Fits = true }, "", ""},
	} {
		f := facts(t)
		tt.make(&f)
		st := standing.At(f)
		want := map[string]string{"DE": tt.de, "US": tt.us}
		for _, doc := range report.NewSeriesDocuments(st, "") {
			line, next := "DE chart: last done 2026-02-14 11:45:00Z, 20 min ago; next due 2026-02-14 12:15:00Z", want[doc.Region]
			if doc.Region == "US" {
				line = "US chart: last done 2026-02-14 12:00:00Z, 5 min ago; next due 2026-02-14 12:30:00Z"
			}
			if next != "" {
				line += "; " + next
			}
			if doc.Reason != next || doc.Line(f.Now) != line {
				t.Errorf("%s: %q, %q, want %q", tt.name, doc.Reason, doc.Line(f.Now), line)
			}
		}
		for _, slot := range report.NextSlots(st, 2, "", true) {
			if slot.Reason != want[slot.Key] {
				t.Errorf("%s: the next slot of %s: %q, want %q", tt.name, slot.Key, slot.Reason, want[slot.Key])
			}
		}
	}
}
