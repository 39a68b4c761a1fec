package web

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// burnView is the last day's cumulative spending of one pool, followed by what the schedule still wants.
type burnView struct {
	Label, Forecast, ForecastText, Until string
	Ceiling, NowAt                       int
	Areas                                []areaView
}

type areaView struct {
	Purpose, Amount, Points string
	Class                   int
}

// The drawing is 720 wide; its base line is at y = 150 and its top 140 above that.
const (
	burnWidth  = 720
	burnGround = 150
	burnHeight = 140
)

// newBurn returns the drawing; nil if nothing is known.
func newBurn(o overview, d details) *burnView {
	at := slices.IndexFunc(o.quota.Pools, func(p report.PoolDocument) bool { return p.Pool == d.pool })
	if at < 0 || len(d.hours) == 0 {
		return nil
	}
	pool, until := o.quota.Pools[at], o.quota.Forecast.Until
	wants := o.quota.Forecast.Scheduled[d.pool]
	ahead := max(until.Sub(o.at), time.Hour)
	nowAt := int(burnWidth * int64(day) / int64(day+ahead))
	x := func(hour int) int { return nowAt * hour / len(d.hours) }
	total := int64(0)
	for _, hour := range d.hours {
		for _, n := range hour {
			total += n
		}
	}
	top := max(pool.Limit, total+wants, 1)
	y := func(n int64) int { return burnGround - int(burnHeight*n/top) }

	b := &burnView{NowAt: nowAt, Ceiling: y(pool.Limit), Until: until.UTC().Format("15:04Z"), ForecastText: "the schedule wants " + term.Amount(wants, d.pool) + " more"}
	below := make([]int64, len(d.hours)+1) // the upper line of the areas below, by hour
	var sums []string
	for i, purpose := range quota.Purposes() {
		above, sum := slices.Clone(below), int64(0)
		for hour, spent := range d.hours {
			sum += spent[purpose]
			above[hour+1] += sum
		}
		if sum > 0 {
			amount := term.Amount(sum, d.pool)
			sums = append(sums, fmt.Sprintf("%s %s", purpose, amount))
			b.Areas = append(b.Areas, areaView{string(purpose), amount, area(above, below, x, y), i})
		}
		below = above
	}
	b.Forecast = fmt.Sprintf("%d,%d %d,%d", nowAt, y(total), burnWidth, y(total+wants))
	b.Label = fmt.Sprintf("Spent of %s in the last 24 hours: %s; %s until %s", d.pool, orNothing(strings.Join(sums, ", ")), b.ForecastText, b.Until)
	return b
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

// stripView is the slots of a series, oldest first, and why some are not done.
type stripView struct {
	Name, Text string
	Wide       int
	Cells      []cellView
	Reasons    []string
}

// cellView is all slots of a strip with the same outcome.
type cellView struct {
	Class ingest.State
	Path  string
}

// reasonView is all slots of a series with the same outcome and reason.
type reasonView struct {
	outcome     ingest.State
	reason      string
	first, last time.Time // when they were due
	slots       int
}

func (r reasonView) String() string {
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

// newStrip draws the newest slots of a series.
func newStrip(of report.SeriesState, slots []report.SlotDocument) stripView {
	const most, mostReasons = 48, 3
	s := stripView{Name: of.Name()}
	count := map[ingest.State]int{}
	var newest []report.SlotDocument
	var alike []reasonView
	for _, slot := range slots {
		if slot.Job != of.Job || slot.Region != of.Region {
			continue
		}
		newest = append(newest, slices.Repeat([]report.SlotDocument{slot}, min(most, slot.Ticks()))...)
		count[slot.Outcome] += slot.Ticks()
		first := slot.DueAt
		if slot.FirstDueAt != nil {
			first = *slot.FirstDueAt
		}
		i := slices.IndexFunc(alike, func(r reasonView) bool { return r.outcome == slot.Outcome && r.reason == slot.Reason })
		switch {
		case i >= 0:
			alike[i].first = first
			alike[i].slots += slot.Ticks()
		case slot.Reason != "":
			alike = append(alike, reasonView{slot.Outcome, slot.Reason, first, slot.DueAt, slot.Ticks()})
		}
	}
	for _, r := range alike[:min(mostReasons, len(alike))] {
		s.Reasons = append(s.Reasons, r.String())
	}
	newest = newest[:min(most, len(newest))]
	slices.Reverse(newest)
	paths := map[ingest.State]string{}
	for _, slot := range newest {
		paths[slot.Outcome] += fmt.Sprintf("M%d 0h3v10h-3z", s.Wide)
		s.Wide += 4
	}
	var parts []string
	for _, outcome := range outcomes {
		if n := count[outcome]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, outcome))
		}
		if paths[outcome] != "" {
			s.Cells = append(s.Cells, cellView{outcome, paths[outcome]})
		}
	}
	s.Text = strings.Join(parts, ", ")
	if s.Text == "" {
		s.Text = "none yet"
	}
	return s
}
