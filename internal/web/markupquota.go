package web

import (
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// The parts of the page about quota, in order.

func (v *view) pools() g.Node {
	pools := g.Map(v.Pools, func(p poolView) g.Node {
		return g.Group{
			h.H3(g.Text(p.Name)), g.If(p.Closed != "", h.P(moodClass(bad), g.Text(p.Closed))),
			g.Map(p.Bars, barView.markup),
			table("Purposes of "+p.Name, []column{{"Purpose", false}, {"Ceiling", true}, {"Left", true}}, g.Map(p.Purposes, func(of purposeView) g.Node {
				return h.Tr(rowHead(of.Purpose), figure(of.Ceiling), figure(of.Left))
			})),
		}
	})
	if len(pools) == 0 {
		pools = g.Group{notKnown()}
	}
	return section("pools", "What is left", "ingest quota", pools)
}

func (b barView) markup() g.Node {
	return g.Group{
		h.P(h.Class("bar-text"), h.B(g.Text(b.Window)), g.Text(" "), h.Span(g.Text(b.Used+" of "+b.Limit+" used"))), g.Text("\n"),
		h.SVG(h.Class("bar"), g.Attr("viewBox", "0 0 1000 20"), g.Attr("preserveAspectRatio", "none"), h.Role("img"), h.Aria("label", b.Label),
			rect("track", 0, 1000), rect(string(b.Mood), 0, b.Width), g.Map(b.Marks, func(x int64) g.Node { return rect("mark", x, 3) })), g.Text("\n"),
	}
}

func rect(class string, x, width int64) g.Node {
	return g.El("rect", h.Class(class), number("x", int(x)), number("width", int(width)), number("height", 20))
}

func number(attribute string, n int) g.Node { return g.Attr(attribute, strconv.Itoa(n)) }

func (v *view) clocks() g.Node {
	clocks := h.Dl(g.Map(v.Clocks, func(c clockView) g.Node {
		return g.Group{h.Dt(g.Text(c.What)), h.Dd(moment(c.When), g.If(c.In != "", g.Group{g.Text(" "), h.Span(g.Text("(" + c.In + ")"))}))}
	}))
	switch {
	case len(v.Pools) == 0:
		clocks = notKnown()
	case len(v.Clocks) == 0:
		clocks = facts([]fact{{"Nothing is used", "so nothing has to come back"}})
	}
	return section("clocks", "When it comes back", "ingest quota", clocks)
}

func (v *view) burn() g.Node {
	drawn := notKnown()
	if v.Burn != nil {
		drawn = v.Burn.markup()
	}
	return section("burn", "The last 24 hours", "ingest quota", drawn)
}

func (b *burnView) markup() g.Node {
	line := func(class string, y int) g.Node {
		return g.El("line", h.Class(class), number("x1", 0), number("y1", y), number("x2", burnWidth), number("y2", y))
	}
	label := func(x int, anchor, text string) g.Node {
		return g.El("text", number("x", x), number("y", 172), g.If(anchor != "", g.Attr("text-anchor", anchor)), g.Text(text))
	}
	areaClass := func(a areaView) g.Node { return h.Class("p" + strconv.Itoa(a.Class)) }
	return g.Group{
		h.SVG(h.Class("burn"), g.Attr("viewBox", "0 0 720 180"), h.Role("img"), h.Aria("label", b.Label),
			line("axis", burnGround), line("limit", b.Ceiling),
			g.Map(b.Areas, func(a areaView) g.Node { return g.El("polygon", areaClass(a), g.Attr("points", a.Points)) }),
			g.El("polyline", h.Class("forecast"), g.Attr("points", b.Forecast)),
			label(2, "", "24 h ago"), label(b.NowAt, "middle", "now"), label(718, "end", b.Until)),
		h.Ul(h.Class("legend"),
			g.Map(b.Areas, func(a areaView) g.Node { return h.Li(h.I(areaClass(a)), g.Text(a.Purpose+": "+a.Amount)) }),
			h.Li(h.I(h.Class("forecast")), g.Text(b.ForecastText))),
	}
}

func (v *view) who() g.Node {
	var spent g.Node
	switch {
	case len(v.Spent) > 0:
		spent = g.Group{
			table("Who spent it", []column{{"Purpose", false}, {"Region", false}, {"Method", false}, {"Spent", true}}, g.Map(v.Spent, func(s spentView) g.Node {
				return h.Tr(cell(s.Purpose), cell(s.Region), cell(s.Method), figure(s.Amount))
			})), g.If(v.SpentMore != "", h.P(g.Text(v.SpentMore))),
		}
	case len(v.Pools) > 0:
		spent = h.P(g.Text("Nothing was spent in the longest window."))
	default:
		spent = notKnown()
	}
	return section("who", "Who spent it", "ingest quota", spent)
}

func (v *view) drift() g.Node {
	return section("drift", "Our count and the provider’s", "ingest quota", list(g.Map(v.Drift, func(s string) g.Node { return h.Li(g.Text(s)) }), notKnown()))
}

func (v *view) change() g.Node {
	return section("change", "What a change would cost", "ingest config check",
		h.P(g.Text(v.Today)),
		h.Form(h.Action(""), h.Method("get"), h.Label(h.For("every"), g.Text("Every chart, every")), g.Text(" "),
			h.Select(h.ID("every"), h.Name("every"), g.Map(v.Choices, func(c choiceView) g.Node {
				return h.Option(h.Value(c.Value), g.If(c.Chosen, h.Selected()), g.Text(c.Value))
			})), g.Text(" "), h.Button(g.Text("Price it"))),
		g.If(v.Change != "", h.P(h.Strong(g.Text(v.Change)))))
}

func (v *view) ledger() g.Node {
	return section("ledger", "The ledger", "ingest doctor", facts(v.Ledger))
}
