package web

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// The drawing of a day is 720 wide; its base line is at y = 150 and its top 140 above that.
const (
	burnWidth  = 720
	burnGround = 150
	burnHeight = 140
)

// burn draws the last day's cumulative spending of one pool, followed by what the schedule still wants.
func (p *statusPage) burn() g.Node {
	at := slices.IndexFunc(p.o.quota.Pools, func(pool report.PoolDocument) bool { return pool.Pool == p.d.pool })
	if at < 0 || len(p.d.hours) == 0 {
		return nil
	}
	limit, until, wants := p.o.quota.Pools[at].Limit, p.o.quota.Forecast.Until, p.o.quota.Forecast.Scheduled[p.d.pool]
	ahead := max(until.Sub(p.o.at), time.Hour)
	nowAt := int(burnWidth * int64(day) / int64(day+ahead))
	x := func(hour int) int { return nowAt * hour / len(p.d.hours) }
	total := int64(0)
	for _, hour := range p.d.hours {
		for _, n := range hour {
			total += n
		}
	}
	top := max(limit, total+wants, 1)
	y := func(n int64) int { return burnGround - int(burnHeight*n/top) }

	below := make([]int64, len(p.d.hours)+1) // the upper line of the areas below, by hour
	var sums []string
	var areas, legend g.Group
	for i, purpose := range quota.Purposes() {
		above, sum := slices.Clone(below), int64(0)
		for hour, spent := range p.d.hours {
			sum += spent[purpose]
			above[hour+1] += sum
		}
		if sum > 0 {
			amount, class := term.Amount(sum, p.d.pool), h.Class("p"+strconv.Itoa(i))
			sums = append(sums, fmt.Sprintf("%s %s", purpose, amount))
			areas = append(areas, g.El("polygon", class, g.Attr("points", area(above, below, x, y))))
			legend = append(legend, h.Li(h.I(class), g.Text(string(purpose)+": "+amount)))
		}
		below = above
	}
	forecast, end := "the schedule wants "+term.Amount(wants, p.d.pool)+" more", until.UTC().Format("15:04Z")
	label := fmt.Sprintf("Spent of %s in the last 24 hours: %s; %s until %s", p.d.pool, orNothing(strings.Join(sums, ", ")), forecast, end)
	line := func(class string, y int) g.Node {
		return g.El("line", h.Class(class), number("x1", 0), number("y1", y), number("x2", burnWidth), number("y2", y))
	}
	text := func(x int, anchor, text string) g.Node {
		return g.El("text", number("x", x), number("y", 172), g.Attr("text-anchor", anchor), g.Text(text))
	}
	return section("burn", "The last 24 hours", "ingest quota",
		h.SVG(h.Class("burn"), g.Attr("viewBox", "0 0 720 180"), h.Role("img"), h.Aria("label", label),
			line("axis", burnGround), line("limit", y(limit)), areas,
			g.El("polyline", h.Class("forecast"), g.Attr("points", fmt.Sprintf("%d,%d %d,%d", nowAt, y(total), burnWidth, y(total+wants)))),
			text(2, "start", "24 h ago"), text(nowAt, "middle", "now"), text(718, "end", end)),
		h.Ul(h.Class("legend"), legend, h.Li(h.I(h.Class("forecast")), g.Text(forecast))))
}

// area returns the polygon between two lines.
func area(above, below []int64, x func(int) int, y func(int64) int) string {
	var points []string
	for hour, n := range above {
		points = append(points, fmt.Sprintf("%d,%d", x(hour), y(n)))
	}
	for hour := len(below) - 1; hour >= 0; hour-- {
		points = append(points, fmt.Sprintf("%d,%d", x(hour), y(below[hour])))
	}
	return strings.Join(points, " ")
}

// reasonGroup is all slots of a series with the same outcome and reason.
type reasonGroup struct {
	outcome     ingest.State
	reason      string
	first, last time.Time // when they were due
	slots       int
}

func (r reasonGroup) String() string {
	const columns = 160
	when, outcome := term.Stamp(r.first), string(r.outcome)
	if r.slots > 1 {
		last := term.Stamp(r.last)
		if r.first.UTC().YearDay() == r.last.UTC().YearDay() {
			_, last, _ = strings.Cut(last, " ")
		}
		when, outcome = when+" to "+last+",", fmt.Sprintf("%d %s", r.slots, outcome)
	}
	return when + " " + outcome + ": " + term.Fit(r.reason, columns)
}

// strip draws the newest slots of a series, oldest first, and unfolds to why some are not done.
func strip(of report.SeriesState, slots []report.SlotDocument) g.Node {
	const most, mostReasons = 48, 3
	count := map[ingest.State]int{}
	var newest []ingest.State
	var alike []reasonGroup
	for _, slot := range slots {
		if slot.Job != of.Job || slot.Region != of.Region {
			continue
		}
		newest = append(newest, slices.Repeat([]ingest.State{slot.Outcome}, min(most, slot.Ticks()))...)
		count[slot.Outcome] += slot.Ticks()
		first := slot.DueAt
		if slot.FirstDueAt != nil {
			first = *slot.FirstDueAt
		}
		i := slices.IndexFunc(alike, func(r reasonGroup) bool { return r.outcome == slot.Outcome && r.reason == slot.Reason })
		switch {
		case i >= 0:
			alike[i].first = first
			alike[i].slots += slot.Ticks()
		case slot.Reason != "":
			alike = append(alike, reasonGroup{slot.Outcome, slot.Reason, first, slot.DueAt, slot.Ticks()})
		}
	}
	newest = newest[:min(most, len(newest))]
	slices.Reverse(newest)
	paths := map[ingest.State]string{}
	for i, outcome := range newest {
		paths[outcome] += fmt.Sprintf("M%d 0h3v10h-3z", 4*i)
	}
	var parts []string
	var cells g.Group
	for _, outcome := range outcomes {
		if n := count[outcome]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, outcome))
		}
		if paths[outcome] != "" {
			cells = append(cells, g.El("path", h.Class(string(outcome)), g.Attr("d", paths[outcome])))
		}
	}
	text, wide := cmp.Or(strings.Join(parts, ", "), "none yet"), 4*len(newest)
	return h.Details(
		h.Summary(h.B(g.Text(of.Name())), g.Text(" "),
			h.SVG(h.Class("strip"), g.Attr("viewBox", "0 0 "+strconv.Itoa(wide)+" 10"), number("width", wide), number("height", 10), h.Aria("hidden", "true"), cells),
			g.Text(" "+text)),
		list(g.Map(alike[:min(mostReasons, len(alike))], func(r reasonGroup) g.Node { return h.Li(g.Text(r.String())) }), h.P(g.Text("No missed or failed fetches."))),
	)
}
