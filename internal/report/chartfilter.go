package report

import (
	"slices"
	"time"
)

// ChartFilter selects videos of a chart. An empty field selects all.
type ChartFilter struct {
	Change   string // since the chart that it is compared with: new, risen, fallen, same or gone
	Category string // an id
	Length   string // one of Lengths
}

// Lengths are the lengths of videos to choose from, as YouTube names them: under 4 minutes, up to 20, and over 20.
var Lengths = []string{"short", "medium", "long"}

// lengthOf returns a video's length; "" while it is live, or if its duration is not known.
func lengthOf(v VideoDocument) string {
	switch d := time.Duration(v.DurationS) * time.Second; {
	case d == 0:
		return ""
	case d < 4*time.Minute:
		return "short"
	case d <= 20*time.Minute:
		return "medium"
	}
	return "long"
}

// Only returns the chart with only the videos that a filter selects. Changes are counted without regard to the change.
func (d MovesDocument) Only(f ChartFilter) MovesDocument {
	left := func(v VideoDocument) bool {
		return f.Category != "" && v.Category != f.Category || f.Length != "" && lengthOf(v) != f.Length
	}
	d.ChartDocument.Items = slices.DeleteFunc(slices.Clone(d.ChartDocument.Items), func(v ChartItem) bool { return left(v.VideoDocument) })
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
