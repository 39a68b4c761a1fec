package pages

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// known reports whether the ledger can say what is left.
func (st Status) known() bool { return st.Quota != nil && !st.Quota.Degraded }

// wanted returns the pool that the schedule draws from; nil if the ledger cannot say.
func (st Status) wanted() *report.PoolDocument {
	if !st.known() {
		return nil
	}
	i := slices.IndexFunc(st.Quota.Pools, func(p report.PoolDocument) bool { return p.Pool == st.Quota.Wanted() })
	if i < 0 {
		return nil
	}
	return &st.Quota.Pools[i]
}

// ceilings returns what the schedule and backfills may see used of a pool, and what the schedule has left.
func ceilings(p report.PoolDocument) (schedule, backfill, left int64) {
	for _, of := range p.Purposes {
		if of.Purpose == "scheduled" {
			schedule, left = of.Ceiling, of.Remaining
		}
		if of.Purpose == "backfill" {
			backfill = of.Ceiling
		}
	}
	return schedule, backfill, left
}

// pool is the pool that the schedule draws from: what is left, what is still needed, and when it comes back.
func (st Status) pool() g.Node {
	p := st.wanted()
	if p == nil {
		return h.Section(h.Class("pool"), h.Div(h.Class("fact"), h.H2(g.Text("Quota")), h.Span(h.B(g.Text("not known")), g.Text(" "), h.Small(g.Text("while the ledger cannot answer")))))
	}
	schedule, backfill, left := ceilings(*p)
	used, needed := p.Used(), st.Quota.Forecast.Scheduled[p.Pool]
	part := func(n int64) float64 { return 100 * float64(n) / float64(max(p.Limit, 1)) }
	text := fmt.Sprintf("%s of %s used", term.Thousands(used), term.Thousands(p.Limit))
	bar := Bar{Label: p.Pool + ": " + text, Used: part(used), Needed: part(needed), Marks: []Mark{{part(schedule), term.Thousands(schedule) + " charts"}}}
	if backfill > 0 && backfill < schedule {
		bar.Marks = append(bar.Marks, Mark{part(backfill), term.Thousands(backfill) + " backfills"})
	}
	if p.DrainedUntil != nil {
		bar.Others = part(p.Limit - used)
	}
	return h.Section(h.Class("pool"),
		h.Div(h.Class("fact"), h.H2(g.Text(title(p.Pool))), h.Span(h.B(g.Text(term.Thousands(left)+" left for charts")), g.Text(" "), h.Small(g.Text(text)))),
		bar.Node(),
		facts([][2]string{{"Needed until " + st.when(st.Quota.Forecast.Until), st.fits(p.Pool, needed)}, {"Comes back", st.comesBack(*p)}}))
}

// fits says whether what the schedule needs is left.
func (st Status) fits(pool string, needed int64) string {
	spare := st.Quota.Forecast.Spare[pool]
	switch {
	case needed == 0:
		return "nothing"
	case spare < 0:
		return fmt.Sprintf("%s, %s too many", term.Thousands(needed), term.Thousands(-spare))
	case !st.Quota.Forecast.Fits:
		return term.Thousands(needed) + ", which has to wait"
	}
	return term.Thousands(needed) + ", fits"
}

// comesBack says when the windows of a pool next have more room.
func (st Status) comesBack(p report.PoolDocument) string {
	if p.DrainedUntil != nil {
		return fmt.Sprintf("%s, in %s", st.when(*p.DrainedUntil), term.Ago(p.DrainedUntil.Sub(st.At)))
	}
	var parts []string
	for _, w := range p.Windows {
		if at := w.FreesAt(); at != nil && w.Used > 0 {
			parts = append(parts, w.Window+" from "+st.when(*at))
		}
	}
	return cmp.Or(strings.Join(parts, "; "), "nothing is used")
}

// The drawing of the day.
const dayHeight = 150

// day draws what was spent in the last 24 hours, added up, and what the schedule needs until the provider's day ends.
func (st Status) day() g.Node {
	p := st.wanted()
	if p == nil || len(st.Hours) == 0 {
		return g.If(st.Quota == nil, section("Units, last 24 hours", h.P(h.Class("soft"), g.Text("Not known while the ledger cannot be read."))))
	}
	schedule, _, _ := ceilings(*p)
	needed, until := st.Quota.Forecast.Scheduled[p.Pool], st.Quota.Forecast.Until
	total, sums := int64(0), map[string]int64{}
	for _, hour := range st.Hours {
		for purpose, n := range hour {
			sums[purpose] += n
			total += n
		}
	}
	top := max(schedule, total+needed, 1)
	span := 24*time.Hour + max(until.Sub(st.At), time.Hour)
	x := func(t time.Time) int { return int(chartWidth * (t.Sub(st.At.Add(-24 * time.Hour))) / span) }
	y := func(n int64) int { return dayHeight - int(n*(dayHeight-8)/top) }
	line := func(of func(purpose string) bool) string {
		sum, path := int64(0), fmt.Sprintf("M0 %d", dayHeight)
		for i, hour := range st.Hours {
			for purpose, n := range hour {
				if of(purpose) {
					sum += n
				}
			}
			path += fmt.Sprintf("L%d %d", x(st.At.Add(time.Duration(i-len(st.Hours)+1)*time.Hour)), y(sum))
		}
		return path
	}
	now := x(st.At)
	ours := line(func(purpose string) bool { return purpose == "scheduled" || purpose == "refresh" })
	all := line(func(string) bool { return true })
	chart := LineChart{
		Label:  fmt.Sprintf("%s spent in the last 24 hours, added up: %s; the schedule needs %s more until %s", title(p.Pool), term.Thousands(total), term.Thousands(needed), st.when(until)),
		Height: dayHeight,
		Across: []Tick{{0, hhmm(st.At), false}, {now, "now", false}, {chartWidth, hhmm(until), false}},
		Up:     []Tick{{y(schedule), term.Thousands(schedule) + " charts stop", false}},
		Lines: []Line{
			{Class: "area", Path: ours + fmt.Sprintf("L%d %dZ", now, dayHeight), EndY: -1}, {Class: "line", Path: all, EndY: -1},
			{Class: "line ceil want", Path: fmt.Sprintf("M%d %dL%d %d", now, y(total), chartWidth, y(total+needed)), EndY: -1},
		},
	}
	var chips g.Group
	for _, purpose := range []string{"scheduled", "refresh", "backfill", "manual", "client"} {
		if sums[purpose] > 0 {
			chips = append(chips, h.Span(g.Text(purpose+": "+term.Amount(sums[purpose], p.Pool))))
		}
	}
	chips = append(chips, h.Span(g.Text("┄ the schedule needs "+term.Thousands(needed)+" more")))
	return section(title(p.Pool)+", last 24 hours and until "+st.when(until), chart.Node(), h.P(h.Class("chips"), chips))
}

// folded are the pools that nothing draws from, and what other intervals would cost.
func (st Status) folded() g.Node {
	var unused []report.PoolDocument
	if st.Quota != nil {
		for _, p := range st.Quota.Pools {
			if wanted := st.wanted(); wanted != nil && p.Pool != wanted.Pool {
				unused = append(unused, p)
			}
		}
	}
	var prices g.Group
	for _, price := range st.Prices {
		name := "as configured"
		if price.Every > 0 {
			name = term.Ago(price.Every)
		}
		prices = append(prices, h.Tr(cell(name), figure(cmp.Or(term.Amounts(price.Cost), "nothing that is counted"))))
	}
	return h.Section(h.Class("part"),
		g.If(len(unused) > 0, h.Details(h.Summary(g.Text(term.Plural(len(unused), "other pool")), g.Text(" "), h.Small(g.Text("which the charts do not draw from"))),
			table([]string{"Pool", "Used", "Limit"}, g.Map(unused, func(p report.PoolDocument) g.Node {
				return h.Tr(cell(p.Pool+closed(p, st)), figure(term.Thousands(p.Used())), figure(term.Thousands(p.Limit)))
			})))),
		g.If(len(prices) > 0, h.Details(h.Summary(g.Text("What another interval would cost")), table([]string{"Every", "A day"}, prices))))
}

func closed(p report.PoolDocument, st Status) string {
	if p.DrainedUntil == nil {
		return ""
	}
	return ", closed until " + st.when(*p.DrainedUntil)
}

func title(name string) string {
	return strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "_", " ")
}
