package web

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// The parts of the page about quota, in order.

func (p *statusPage) pools() g.Node {
	return section("pools", "What is left", "ingest quota", g.Map(p.o.quota.Pools, func(pool report.PoolDocument) g.Node {
		closed := g.Node(nil)
		if pool.DrainedUntil != nil {
			closed = h.P(moodClass(bad), g.Text("Closed until "+term.StampFrom(*pool.DrainedUntil)+"."))
		}
		return g.Group{
			h.H3(g.Text(pool.Pool)), closed,
			g.Map(pool.Windows, func(w report.WindowDocument) g.Node { return bar(pool, w) }),
			table("Purposes of "+pool.Pool, []column{{"Purpose", false}, {"Ceiling", true}, {"Left", true}}, g.Map(pool.Purposes, func(of report.PurposeDocument) g.Node {
				return h.Tr(rowHead(string(of.Purpose)), figure(term.Thousands(of.Ceiling)), figure(term.Thousands(of.Remaining)))
			})),
		}
	}))
}

// bar draws how much of a window is used, and where each purpose stops.
func bar(p report.PoolDocument, w report.WindowDocument) g.Node {
	part := func(n int64) int { return int(min(1000*n/max(w.Limit, 1), 1000)) } // of the 1,000 that the bar is wide
	state := good
	var marks g.Group
	var ceilings []string
	for _, of := range p.Purposes {
		ceiling := w.Ceilings[of.Purpose]
		marks = append(marks, rect("mark", min(part(ceiling), 997), 3))
		ceilings = append(ceilings, fmt.Sprintf("%s stops at %s", of.Purpose, term.Thousands(ceiling)))
		if of.Purpose == quota.Scheduled && w.Used >= ceiling {
			state = bad
		} else if of.Purpose == quota.Scheduled && w.Used*5 >= ceiling*4 {
			state = warn
		}
	}
	used := fmt.Sprintf("%s of %s used", term.Thousands(w.Used), term.Thousands(w.Limit))
	label := fmt.Sprintf("%s, window %s: %s; %s", p.Pool, w.Window, used, strings.Join(ceilings, ", "))
	return g.Group{
		h.P(h.Class("bar-text"), h.B(g.Text(w.Window)), g.Text(" "), h.Span(g.Text(used))), g.Text("\n"),
		h.SVG(h.Class("bar"), g.Attr("viewBox", "0 0 1000 20"), g.Attr("preserveAspectRatio", "none"), h.Role("img"), h.Aria("label", label),
			rect("track", 0, 1000), rect(string(state), 0, part(w.Used)), marks), g.Text("\n"),
	}
}

func rect(class string, x, width int) g.Node {
	return g.El("rect", h.Class(class), number("x", x), number("width", width), number("height", 20))
}

func number(attribute string, n int) g.Node { return g.Attr(attribute, strconv.Itoa(n)) }

func (p *statusPage) clocks() g.Node {
	var clocks g.Group
	for _, pool := range p.o.quota.Pools {
		for _, w := range pool.Windows {
			at := w.FreesAt()
			if at == nil {
				continue
			}
			what := fmt.Sprintf("%s, %s: units free from", pool.Pool, w.Window)
			if w.ResetsAt != nil {
				what = fmt.Sprintf("%s: the provider’s day turns%s", pool.Pool, p.o.quota.InZone())
			}
			clocks = append(clocks, h.Dt(g.Text(what)),
				h.Dd(moment(term.StampFrom(*at)), g.Text(" "), h.Span(g.Text("(in "+term.Ago(at.Sub(p.o.at))+")"))))
		}
	}
	if len(clocks) == 0 {
		return section("clocks", "When it comes back", "ingest quota", facts([]fact{{"Nothing is used", "so nothing has to come back"}}))
	}
	return section("clocks", "When it comes back", "ingest quota", h.Dl(clocks))
}

func (p *statusPage) who() g.Node {
	const most = 12
	spent := p.o.quota.Spent
	if len(spent) == 0 {
		return section("who", "Who spent it", "ingest quota", h.P(g.Text("Nothing was spent in the longest window.")))
	}
	more := g.Node(nil)
	if n := len(spent) - most; n > 0 {
		more = h.P(g.Text(fmt.Sprintf("And %d more.", n)))
	}
	return section("who", "Who spent it", "ingest quota",
		table("Who spent it", []column{{"Purpose", false}, {"Region or client", false}, {"Method", false}, {"Spent", true}}, g.Map(spent[:min(most, len(spent))], func(s report.SpentDocument) g.Node {
			return h.Tr(cell(string(s.Purpose)), cell(cmp.Or(s.Region, s.Client, "–")), cell(s.Method), figure(term.Amount(s.Amount, s.Pool)))
		})), more)
}

func (p *statusPage) drift() g.Node {
	return section("drift", "Our count and the provider’s", "ingest quota", h.Ul(g.Map(p.o.quota.Pools, func(pool report.PoolDocument) g.Node {
		text := pool.Pool + ": no difference; the provider has not refused a call."
		if pool.StoppedAt > 0 {
			text = fmt.Sprintf("%s: the provider refused when we had counted %s of %s", pool.Pool, term.Thousands(pool.StoppedAt), term.Thousands(pool.Limit))
			if pool.Drift > 0 {
				text += fmt.Sprintf(": another tool may have spent %s", term.Thousands(pool.Drift))
			}
			text += "."
		}
		return h.Li(g.Text(text))
	})))
}

// intervals are those offered for pricing.
var intervals = []string{"10m", "15m", "20m", "30m", "1h", "2h", "6h"}

func (p *statusPage) change() g.Node {
	today := g.Node(nil)
	if p.d.price != nil {
		today = h.P(g.Text("As configured, a day of the schedule costs " + orNothing(term.Amounts(p.d.price)) + "."))
	}
	priced := g.Node(nil)
	if text := p.priceOf(p.every); text != "" {
		priced = h.P(h.Strong(g.Text(text)))
	}
	return section("change", "What a change would cost", "ingest config check", today,
		h.Form(h.Action(""), h.Method("get"), h.Label(h.For("every"), g.Text("Every chart, every")), g.Text(" "),
			h.Select(h.ID("every"), h.Name("every"), g.Map(intervals, func(every string) g.Node {
				return h.Option(h.Value(every), g.If(every == p.every, h.Selected()), g.Text(every))
			})), g.Text(" "), h.Button(g.Text("Price it"))),
		priced)
}

// priceOf says what the schedule costs with another interval; "" if that is no interval to price.
func (p *statusPage) priceOf(every string) string {
	interval, err := time.ParseDuration(every)
	if p.source == nil || p.d.price == nil || err != nil || interval < time.Minute || interval > 7*day {
		return ""
	}
	price, err := p.source.DayPrice(interval)
	if err != nil {
		return "Not known: " + term.Clean(err.Error())
	}
	var parts []string
	for pool, n := range price {
		parts = append(parts, fmt.Sprintf("%+d %s a day", n-p.d.price[pool], pool))
	}
	return fmt.Sprintf("Every %s: %s, %s in all.", term.Clean(every), strings.Join(parts, ", "), orNothing(term.Amounts(price)))
}

func orNothing(amounts string) string { return cmp.Or(amounts, "nothing that is counted") }

func (p *statusPage) ledger() g.Node {
	if !p.answers() {
		list := []fact{{"State", "cannot answer"}}
		if p.d.ledger.AskedAgain != nil {
			list = append(list, fact{"Asked again", term.StampFrom(*p.d.ledger.AskedAgain) + ": " + term.Clean(p.d.ledger.Why)})
		}
		if len(p.o.emergency) > 0 {
			list = append(list, fact{"Spent without it", term.Amounts(p.o.emergency) + " in 24 h"})
		}
		return section("ledger", "The ledger", "ingest doctor", facts(list))
	}
	l := p.d.ledger
	list := []fact{{"State", "answers"}, {"Kind", p.o.quota.Ledger}, {"Account", p.o.quota.Account}, {"Costs", p.o.quota.Table}}
	if l.Generation != "" {
		list = append(list, fact{"Generation", l.Generation})
	}
	if len(p.o.emergency) > 0 {
		list = append(list, fact{"Spent without it", term.Amounts(p.o.emergency) + " in 24 h"})
	}
	verified := "every recorded fetch is in the ledger, checked at " + term.Stamp(l.ProvenAt)
	if err := p.d.errs["ledger"]; err != nil {
		verified = "not known: " + term.Clean(err.Error())
	} else if l.Missing > 0 {
		verified = fmt.Sprintf("it lacks %s units that the slots spent: ingest quota rebuild", term.Thousands(l.Missing))
	}
	return section("ledger", "The ledger", "ingest doctor", facts(append(list, fact{"Verified", verified})))
}
