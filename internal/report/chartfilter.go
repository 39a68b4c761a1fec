package report

import (
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
)

// ChartFilter selects videos of a chart. An empty field selects all.
type ChartFilter struct {
	Change   string // since the chart that it is compared with: new, risen, fallen, same or gone
	Category string // an id
	Length   ingest.Length
}

// Only returns the chart with only the videos that a filter selects. Changes are counted without regard to the change.
func (d MovesDocument) Only(f ChartFilter) MovesDocument {
	left := func(v VideoDocument) bool {
		return f.Category != "" && v.Category != f.Category || !f.Length.Contains(time.Duration(v.DurationS)*time.Second)
	}
	d.ChartDocument.Items = slices.DeleteFunc(slices.Clone(d.ChartDocument.Items),
		func(v ChartItem) bool { return left(v.VideoDocument) })
	if !d.Compared() {
		return d
	}
	moves := slices.DeleteFunc(slices.Concat(d.Items, d.Gone), func(v MoveItem) bool { return left(v.VideoDocument) })
	d = NewMovesDocument(d.ChartDocument, d.ComparedTo, moves)
	if f.Change != "" {
		other := func(v MoveItem) bool { return v.Change != f.Change }
		d.Items, d.Gone = slices.DeleteFunc(d.Items, other), slices.DeleteFunc(d.Gone, other)
	}
	return d
}
