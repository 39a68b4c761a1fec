package pages

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// known reports whether the ledger knows the rest.
func (st Status) known() bool { return st.Quota != nil && !st.Quota.Degraded }

// wanted returns the pool that the schedule spends from; nil if the ledger cannot say.
func (st Status) wanted() *report.PoolDocument {
	if !st.known() {
		return nil
	}
	return st.Quota.Wanted()
}

// pool shows the schedule's pool: its rest, the schedule's need, and when units come back.
func (st Status) pool() g.Node {
	p := st.wanted()
	if p == nil {
		return h.Section(h.Class("pool"), h.Div(h.Class("fact"), h.H2(g.Text("Quota")),
			h.Span(h.B(g.Text("not known")), g.Text(" "), h.Small(g.Text("while the "+st.missing()+" cannot answer")))))
	}
	most := p.Fullest()
	schedule, backfill, left := most.Ceilings["scheduled"], most.Ceilings["backfill"], p.For("scheduled").Remaining
	used, needed := most.Used, st.Quota.Forecast.Scheduled[p.Pool]
	part := func(n int64) float64 { return 100 * float64(n) / float64(most.Limit) }
	text := fmt.Sprintf("%s of %s used", term.Thousands(used), term.Thousands(most.Limit))
	bar := Bar{Label: p.Pool + ": " + text, Used: part(used), Needed: part(needed),
		Marks: []Mark{{part(schedule), term.Thousands(schedule) + " charts"}}}
	if backfill > 0 && backfill < schedule {
		bar.Marks = append(bar.Marks, Mark{part(backfill), term.Thousands(backfill) + " backfills"})
	}
	if p.DrainedUntil != nil {
		bar.Others = part(most.Limit - used)
	}
	return h.Section(h.Class("pool"),
		h.Div(h.Class("fact"), h.H2(g.Text(title(p.Pool))),
			h.Span(h.B(g.Text(term.Thousands(left)+" left for charts")), g.Text(" "), h.Small(g.Text(text)))),
		bar.Node(),
		facts([][2]string{{"Needed until " + st.when(st.Quota.Forecast.Until), st.fits(p.Pool, needed)},
			{"Comes back", st.comesBack(*p)}}))
}

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
			parts = append(parts, w.Window+": "+st.when(*at))
		}
	}
	return cmp.Or(strings.Join(parts, "; "), "nothing is used")
}

// The drawing of the day.
const dayHeight = 150

// day draws the sum of the spends of the last 24 hours, and the schedule's need until the provider's day ends.
func (st Status) day() g.Node {
	p := st.wanted()
	if p == nil || len(st.Hours) == 0 {
		return g.If(st.Quota == nil, section("Units, last 24 hours",
			h.P(h.Class("soft"), g.Text("Not known while the "+st.missing()+" cannot be read."))))
	}
	schedule, needed, until := p.For("scheduled").Ceiling, st.Quota.Forecast.Scheduled[p.Pool], st.Quota.Forecast.Until
	ours, all, others := st.sums()
	total := all[len(all)-1]
	top := max(schedule, total+needed, 1)
	x := timeline{st.At.Add(-24 * time.Hour), st.At.Add(max(until.Sub(st.At), time.Hour))}.x
	y := func(n int64) int { return dayHeight - int(n*(dayHeight-8)/top) }
	line := func(sums []int64) string {
		var d strings.Builder
		for i, sum := range sums {
			fmt.Fprintf(&d, "L%d %d", x(st.At.Add(time.Duration(i-len(sums)+1)*time.Hour)), y(sum))
		}
		return "M" + d.String()[1:]
	}
	now, begins := x(st.At), until.Add(-24*time.Hour)
	ground := fmt.Sprintf("L%d %dL0 %dZ", now, dayHeight, dayHeight)
	chart := LineChart{
		Label: fmt.Sprintf("%s spent in the last 24 hours, added up: %s; the schedule needs %s more until %s",
			title(p.Pool), term.Thousands(total), term.Thousands(needed), st.when(until)),
		Height: dayHeight,
		Across: []Tick{{Text: hhmm(st.At), Wide: true}, {At: now, Text: "now", Wide: now > chartWidth*4/5},
			{At: chartWidth, Text: hhmm(until)}},
		Up: []Tick{{At: y(schedule), Text: term.Thousands(schedule) + " charts stop"},
			{At: y(top / 2), Text: term.Thousands(top / 2)}},
		Lines: []Line{
			{Class: "others", Path: line(all) + ground, EndY: -1}, {Class: "area", Path: line(ours) + ground, EndY: -1},
			{Class: "line ceil", Path: fmt.Sprintf("M0 %[1]dH%[2]d", y(schedule), chartWidth), EndY: -1},
			{Class: "line ceil want", Path: fmt.Sprintf("M%d %dL%d %d", now, y(total), chartWidth, y(total+needed)), EndY: -1},
		},
	}
	if at := x(begins); at > chartWidth/10 && at < now-chartWidth/10 {
		chart.Across = append(chart.Across, Tick{At: at, Text: hhmm(begins) + " day begins"})
	}
	keys := g.Group{key("area", "schedule "+term.Thousands(ours[len(ours)-1]))}
	if others != "" {
		keys = append(keys, key("others", others))
	}
	return section(title(p.Pool)+", last 24 hours and until "+st.when(until), chart.Node(),
		h.P(h.Class("chips"), keys, key("line ceil want", "the schedule needs "+term.Thousands(needed)+" more")))
}

// sums returns the running sums of the spends of each of the last 24 hours, starting from zero: by the schedule, and
// by all. others describes the remaining spends in words.
func (st Status) sums() (ours, all []int64, others string) {
	ours, all = []int64{0}, []int64{0}
	rest := map[string]int64{}
	for i, hour := range st.Hours {
		ours, all = append(ours, ours[i]), append(all, all[i])
		for purpose, n := range hour {
			all[i+1] += n
			if purpose == "scheduled" || purpose == "refresh" {
				ours[i+1] += n
			} else {
				rest[purpose] += n
			}
		}
	}
	var words []string
	for _, purpose := range slices.Sorted(maps.Keys(rest)) {
		if rest[purpose] > 0 {
			words = append(words, purpose+" "+term.Thousands(rest[purpose]))
		}
	}
	return ours, all, strings.Join(words, ", ")
}

// folded shows the unused pools, and the cost of other intervals.
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
		g.If(len(unused) > 0, h.Details(h.Summary(g.Text(term.Plural(len(unused), "other pool")),
			g.Text(" "), h.Small(g.Text("which the charts do not draw from"))),
			table("Other pools", []string{"Pool", "Used,num", "Limit,num"}, g.Map(unused, func(p report.PoolDocument) g.Node {
				name := p.Pool
				if p.DrainedUntil != nil {
					name += ", closed until " + st.when(*p.DrainedUntil)
				}
				return h.Tr(cell(name), figure(term.Thousands(p.Fullest().Used)), figure(term.Thousands(p.Fullest().Limit)))
			})))),
		g.If(len(prices) > 0, h.Details(h.Summary(g.Text("Cost of other intervals")),
			table("Prices", []string{"Every", "A day,num"}, prices))))
}

func title(name string) string {
	return strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "_", " ")
}
