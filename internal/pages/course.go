package pages

import (
	"context"
	"fmt"
	"math"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// withCourses adds their courses to the videos of a page of a chart.
func (doc shownChart) withCourses(ctx context.Context, docs *report.Documents, videos []report.MoveItem) error {
	if docs.Courses == nil {
		return nil
	}
	ids := term.Texts(videos, func(v report.MoveItem) string { return v.VideoID })
	courses, err := docs.Courses(ctx, doc.Region, doc.Job, doc.Slot, ids)
	for i := range videos {
		videos[i].CourseDocument = courses[videos[i].VideoID]
	}
	return err
}

// course says how a video has done in its chart: its ranks of the last 24 hours as a line, its peak, since when it is
// charted, and where else it is.
func (doc shownChart) course(v report.MoveItem) g.Node {
	words := []string{}
	if v.Peak > 0 {
		words = append(words, fmt.Sprintf("peak %d", v.Peak))
	}
	if v.Since != nil && doc.Slot.After(*v.Since) {
		words = append(words, "for "+ageText(doc.Slot.Sub(*v.Since)))
	}
	if text := also(v.Also); text != "" {
		words = append(words, text)
	}
	return h.Span(h.Class("course soft"), sparkline(v.Ranks), h.Span(g.Text(strings.Join(words, " · "))))
}

// gain is how many views a video gained in an hour since the chart that it is compared with; "" if that is not known.
func (doc shownChart) gain(v report.MoveItem) string {
	hours := doc.Slot.Sub(doc.ComparedTo).Hours()
	if v.ViewsGained == nil || !doc.Compared() || hours <= 0 {
		return ""
	}
	return term.Gain(new(int64(math.Round(float64(*v.ViewsGained)/hours)))) + "/h"
}

// The drawing of a sparkline: the most steps, and a height for ranks from 1, at the top, to worst.
const (
	sparkSteps  = 24
	sparkHeight = 15
	sparkWorst  = 200
)

// sparkline draws ranks, oldest first, as steps on a logarithmic scale, with a gap where a rank is 0. A page has up to
// 30 of them, so that each has less than 300 bytes.
func sparkline(ranks []int) g.Node {
	var d strings.Builder
	drawn := -1 // the height of the line so far; -1: there is none
	thin := (len(ranks) + sparkSteps - 1) / sparkSteps
	for i := 0; i < len(ranks); i++ {
		if thin > 1 && (len(ranks)-1-i)%thin != 0 { // the newest always stays
			continue
		}
		x, y := i*2, -1
		if rank := min(ranks[i], sparkWorst); rank > 0 {
			y = int(sparkHeight * math.Log(float64(rank)) / math.Log(sparkWorst))
		}
		switch {
		case y == drawn:
		case drawn >= 0 && y >= 0:
			fmt.Fprintf(&d, "H%dV%d", x, y)
		case y >= 0:
			fmt.Fprintf(&d, "M%d %d", x, y)
		default:
			fmt.Fprintf(&d, "H%d", x)
		}
		drawn = y
	}
	if drawn >= 0 {
		fmt.Fprintf(&d, "H%d", len(ranks)*2)
	}
	if d.Len() == 0 {
		return nil
	}
	return h.SVG(h.Class("spark"), g.Attr("viewBox", fmt.Sprintf("0 -1 %d %d", len(ranks)*2, sparkHeight+2)),
		g.Attr("preserveAspectRatio", "none"), h.Aria("hidden", "true"),
		g.El("path", g.Attr("d", d.String())))
}
