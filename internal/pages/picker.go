package pages

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// The pickers of a chart's page, named like the parameters that they choose.
const (
	pickAt     = "at"
	pickSince  = "since"
	pickBeside = "beside"
	pickFilter = "filter"
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

// picker is the panel that the reader has opened; nil: none. It consists of links, so that a thumb, a keyboard and a
// browser without a script can use it. A reader opens it with a link: other pages do without its list.
func (doc shownChart) picker(ctx context.Context, docs *report.Documents, all report.RegionsDocument) (g.Node, error) {
	switch {
	case doc.pick == pickAt:
		return doc.times(ctx, docs, "Go to the chart of", doc.Slot, nil)
	case doc.pick == pickSince && doc.Compared():
		return doc.times(ctx, docs, "Compare with the chart of", doc.ComparedTo, nil)
	case doc.pick == pickSince:
		return doc.times(ctx, docs, "Compare with the chart of", doc.Slot.Add(-24*time.Hour), nil)
	case doc.pick == pickBeside:
		var regions g.Group
		for _, other := range all.Regions {
			if other.Region != doc.Region && charted(other) {
				regions = append(regions, link(doc.with(pickBeside, string(other.Region)), other.Name))
			}
		}
		return doc.times(ctx, docs, "Show side by side with", doc.Slot.Add(-24*time.Hour), regions)
	case doc.pick == pickFilter:
		return doc.filters(), nil
	}
	return nil, nil
}

// panel is an open picker.
func (doc shownChart) panel(title g.Node, choices ...g.Node) g.Node {
	return h.Section(h.Class("pick"), h.ID("pick"), h.H2(title), g.Group(choices),
		h.A(h.Class("close"), h.Href(doc.with("", "")), h.Aria("label", "Close"), g.Text("✕")))
}

// filtered is the name of the filter panel, with its chosen values.
func (doc shownChart) filtered() string {
	name := "Filter"
	if category := doc.params.Get("category"); category != "" {
		for _, v := range doc.whole {
			if v.Category == category {
				category = cmp.Or(v.Named, category)
			}
		}
		name += ": " + term.Fit(category, 20)
	}
	if length := doc.params.Get("length"); length != "" {
		name += ": " + cmp.Or(valueNames[length], term.Fit(length, 20))
	}
	return name
}

// filters are links to the videos of one category, and of one length.
func (doc shownChart) filters() g.Node {
	chosen, count, names := doc.params.Get("category"), map[string]int{}, map[string]string{}
	for _, v := range doc.whole {
		count[v.Category]++
		names[v.Category] = cmp.Or(v.Named, "Category "+v.Category)
	}
	delete(count, "")
	categories, lengths := g.Group{chip(doc.with("category", ""), "All categories", chosen == "")},
		g.Group{chip(doc.with("length", ""), "Any length", doc.params.Get("length") == "")}
	for _, id := range slices.SortedFunc(maps.Keys(count),
		func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) }) {
		categories = append(categories,
			chip(doc.with("category", id), fmt.Sprintf("%s %d", term.Fit(names[id], 30), count[id]), id == chosen))
	}
	for _, l := range ingest.Lengths {
		lengths = append(lengths, chip(doc.with("length", l.String()), valueNames[l.String()],
			doc.params.Get("length") == l.String()))
	}
	return doc.panel(g.Text("Show only"), chips("Category", categories), chips("Length", lengths))
}

// times offers the charts that are kept, and nothing else: the days, and the times of the chosen day.
func (doc shownChart) times(ctx context.Context, docs *report.Documents, title string, chosen time.Time,
	others g.Group) (g.Node, error) {
	kept, err := docs.Kept(ctx, doc.Region, doc.Job)
	if err != nil {
		return nil, err
	}
	if doc.pick != pickAt { // only with an older chart
		kept = slices.DeleteFunc(kept, func(slot time.Time) bool { return !slot.Before(doc.Slot) })
	}
	if !slices.ContainsFunc(kept, func(slot time.Time) bool { return sameDay(slot, chosen) }) && len(kept) > 0 {
		chosen = kept[len(kept)-1]
	}
	to := func(slot time.Time) string { return doc.with(doc.pick, slot.UTC().Format(time.RFC3339)) }
	var days, times g.Group
	for i, slot := range kept {
		if sameDay(slot, chosen) {
			times = append(times, h.A(h.Href(to(slot)), g.If(slot.Equal(chosen), h.Aria("current", "true")),
				moment(slot, clockTime)))
		}
		if i == len(kept)-1 || !sameDay(slot, kept[i+1]) {
			day := nearest(kept[:i+1], slot, chosen)
			days = append(days, h.A(h.Href(picking(doc.pick, to(day))), g.If(sameDay(day, chosen), h.Aria("current", "true")),
				moment(day, "Mon 2")))
		}
	}
	if len(days) == 0 {
		days = g.Group{h.Span(h.Class("soft"), g.Text("No older chart is kept."))}
	}
	slices.Reverse(days)
	return doc.panel(g.Group{g.Text(title + " "), h.Small(zone())}, g.If(others != nil, chips("Region", others)),
		chips("Days kept", days), chips("Times kept", times)), nil
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
