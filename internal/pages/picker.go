package pages

import (
	"context"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest/internal/report"
)

// The pickers of a chart's page, named like the parameters that they choose.
const (
	pickAt    = "at"
	pickSince = "since"
)

// picking returns the address of a view with a picker open.
func picking(pick, view string) string {
	if strings.Contains(view, "?") {
		return view + "&pick=" + pick + "#pick"
	}
	return view + "?pick=" + pick + "#pick"
}

// opener is a link to the same view with a picker open.
func (v view) opener(pick string, content ...g.Node) g.Node {
	return h.A(h.Href(picking(pick, v.with("", ""))), g.Group(content))
}

// picker offers the charts that are kept, and nothing else: the days, and the times of the chosen day. It consists of
// links, so that a thumb, a keyboard and a browser without a script can use it. A reader opens it with a link: other
// pages do without its list.
func (doc shownChart) picker(ctx context.Context, lib *report.Library) (g.Node, error) {
	title, chosen := "Go to the chart of", doc.Slot
	switch {
	case doc.pick == pickSince && !doc.Compared():
		title, chosen = "Compare with the chart of", doc.Slot.Add(-24*time.Hour)
	case doc.pick == pickSince:
		title, chosen = "Compare with the chart of", doc.ComparedTo
	case doc.pick != pickAt:
		return nil, nil
	}
	kept, err := lib.Kept(ctx, doc.Region, doc.Job)
	if err != nil {
		return nil, err
	}
	if doc.pick == pickSince { // only with an older chart
		kept = slices.DeleteFunc(kept, func(slot time.Time) bool { return !slot.Before(doc.Slot) })
	}
	to := func(slot time.Time) string { return doc.with(doc.pick, slot.UTC().Format(time.RFC3339)) }
	var days, times g.Group
	for i, slot := range kept {
		if sameDay(slot, chosen) {
			times = append(times, h.A(h.Href(to(slot)), g.If(slot.Equal(chosen), h.Aria("current", "true")), moment(slot, clockTime)))
		}
		if i == len(kept)-1 || !sameDay(slot, kept[i+1]) {
			day := nearest(kept[:i+1], slot, chosen)
			days = append(days, h.A(h.Href(picking(doc.pick, to(day))), g.If(sameDay(day, chosen), h.Aria("current", "true")), moment(day, "Mon 2")))
		}
	}
	if len(days) == 0 {
		days = g.Group{h.Span(h.Class("soft"), g.Text("No older chart is kept."))}
	}
	slices.Reverse(days)
	return h.Section(h.Class("pick"), h.ID("pick"), h.H2(g.Text(title+" "), h.Small(zone())), chips("Day", days), chips("Time", times),
		h.A(h.Class("close"), h.Href(doc.with("", "")), h.Aria("label", "Close"), g.Text("✕"))), nil
}

// nearest returns, of the slots of the last one's day, the one that is nearest to the chosen time of day.
func nearest(kept []time.Time, last, chosen time.Time) time.Time {
	wanted, best := last.UTC().Truncate(24*time.Hour).Add(chosen.Sub(chosen.UTC().Truncate(24*time.Hour))), last
	for _, slot := range slices.Backward(kept) {
		if !sameDay(slot, last) {
			break
		}
		if slot.Sub(wanted).Abs() < best.Sub(wanted).Abs() {
			best = slot
		}
	}
	return best
}

func sameDay(a, b time.Time) bool {
	return a.UTC().Truncate(24 * time.Hour).Equal(b.UTC().Truncate(24 * time.Hour))
}
