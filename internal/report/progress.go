package report

import (
	"cmp"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/internal/term"
)

// Progress is how far a run is, and how fast. It is read from the table of slots, so all processes at work on the
// backfill count.
type Progress struct {
	Event     string  `json:"event"` // progress
	ID        string  `json:"id"`
	Pieces    int     `json:"pieces"` // that have ended
	Total     int     `json:"total"`
	Units     int64   `json:"units"`
	Videos    int     `json:"videos"`
	PerMinute float64 `json:"units_per_minute"`
	SecondsTo float64 `json:"seconds_to_go,omitempty"` // at this rate; 0: not known yet
	Of        string  `json:"-"`                       // what the pieces are; "": pieces
}

// Line formats the progress in 79 columns. Before anything is spent there is no rate to show.
func (p Progress) Line(bar bool) string {
	const width = 22
	drawn := ""
	if bar {
		drawn = term.Bar(int64(p.Pieces), int64(p.Total), width) + " "
	}
	left := ""
	if p.SecondsTo > 0 {
		left = ", " + (time.Duration(p.SecondsTo+0.5) * time.Second).String() + " to go"
	}
	rate := ""
	if p.PerMinute > 0 {
		rate = fmt.Sprintf(", %.0f a minute", p.PerMinute)
	}
	return fmt.Sprintf("%s%s of %s, %s%s%s",
		drawn, term.Thousands(int64(p.Pieces)), term.Plural(p.Total, cmp.Or(p.Of, "piece")), term.Amount(p.Units, "units"), rate, left)
}
