package web

import (
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// The parts of the page about slots and what they brought, in order.

func (v *view) next() g.Node {
	next := h.P(g.Text("Nothing is due before the provider’s day turns."))
	if len(v.Next) > 0 {
		next = table("The next slots", []column{{"Due", false}, {"Job", false}, {"Region", false}, {"Price", true}, {"Fits", false}}, g.Map(v.Next, func(n nextView) g.Node {
			return h.Tr(h.Td(moment(n.Due)), cell(n.Job), cell(n.Region), figure(n.Price), moodCell(n.Mood, n.Fits))
		}))
	}
	return section("next", "What comes next", "ingest slots --next 8", next)
}

func (v *view) fresh() g.Node {
	return section("fresh", "How old the data is", "ingest slots --since 24h",
		table("Age of data", []column{{"Job", false}, {"Region", false}, {"Age", true}, {"Interval", true}, {"State", false}}, g.Map(v.Series, func(s seriesView) g.Node {
			return h.Tr(cell(s.Job), rowHead(s.Region), figure(s.Age), figure(s.Interval), moodCell(s.Mood, s.State))
		})),
		h.H3(g.Text("Slots of the last 24 hours")),
		g.Map(v.Strips, stripView.markup))
}

// markup returns a strip that unfolds to the reasons.
func (s stripView) markup() g.Node {
	return h.Details(
		h.Summary(h.B(g.Text(s.Name)), g.Text(" "),
			h.SVG(h.Class("strip"), g.Attr("viewBox", "0 0 "+strconv.Itoa(s.Wide)+" 10"), number("width", s.Wide), number("height", 10), h.Aria("hidden", "true"),
				g.Map(s.Cells, func(c cellView) g.Node { return g.El("path", h.Class(string(c.Class)), g.Attr("d", c.Path)) })),
			g.Text(" "+s.Text)),
		list(g.Map(s.Reasons, func(r string) g.Node { return h.Li(g.Text(r)) }), h.P(g.Text("Each one is done or open."))),
	)
}

func (v *view) refusals() g.Node {
	return section("refusals", "Refused lately", "ingest slots --outcome stopped", list(g.Map(v.Refusals, func(r refusalView) g.Node {
		return h.Li(h.B(g.Text(r.Name)), g.Text(", the newest due "+r.Due+": "+r.Reason), g.If(r.Retry != "", g.Group{g.Text("; again at "), moment(r.Retry)}))
	}), h.P(g.Text("No slot was stopped by quota in the last 24 hours."))))
}

func (v *view) policy() g.Node {
	var backfills g.Node
	if len(v.Backfills) > 0 {
		backfills = g.Group{
			h.H3(g.Text("Backfills")),
			table("Backfills", []column{{"Backfill", false}, {"What", false}, {"Outcome", false}, {"Pieces", false}, {"Units", true}}, g.Map(v.Backfills, func(b report.BackfillDocument) g.Node {
				ended, pieces := strconv.Itoa(b.Ended), strconv.Itoa(b.Pieces)
				return h.Tr(rowHead(b.ID), cell(b.What), cell(string(b.Outcome)),
					h.Td(h.Progress(h.Value(ended), h.Max(pieces), h.Aria("label", b.ID)), g.Text(" "+ended+" of "+pieces)), figure(term.Thousands(b.Units)))
			})), sourceLine("ingest backfill status"),
		}
	}
	return section("policy", "What is kept", "ingest doctor", facts(v.Policy), backfills)
}

func (v *view) found() g.Node {
	title := func(p part) g.Node {
		if p.Marked {
			return h.Mark(g.Text(p.Text))
		}
		return g.Text(p.Text)
	}
	var found g.Node
	if v.Query != "" {
		found = g.Group{h.P(g.Text(v.Looked)), h.Ol(g.Map(v.Found, func(f foundView) g.Node {
			return h.Li(g.Map(f.Title, title), g.Text(" "), h.Span(g.Text(f.Channel+" "+f.Regions)))
		}))}
	}
	return section("search", "Search", "ingest search",
		h.Form(h.Action(""), h.Method("get"), h.Role("search"), h.Label(h.For("q"), g.Text("In titles, channels and tags")), g.Text(" "),
			h.Input(h.ID("q"), h.Name("q"), h.Type("search"), h.Value(v.Query), h.MaxLength("200")), g.Text(" "), h.Button(g.Text("Search"))),
		found)
}
