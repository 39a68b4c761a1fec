package pages

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// The heights of the drawings, and the least distance between a line's points, which keeps a page small.
const (
	ranksHeight = 300
	viewsHeight = 150
	apart       = 4
)

// timeline maps times to the width of a drawing.
type timeline struct{ from, to time.Time }

// timelineOf spans everything that was seen, until now.
func timelineOf(paths []path, now time.Time) timeline {
	t := timeline{sightings(paths)[0].Slot, now}
	if least := t.from.Add(time.Hour); t.to.Before(least) {
		t.to = least
	}
	return t
}

func (t timeline) x(at time.Time) int {
	return int(min(chartWidth*at.Sub(t.from)/t.to.Sub(t.from), chartWidth))
}

// ticks are a few round hours, days or weeks.
func (t timeline) ticks() (ticks []Tick) {
	const most = 8
	step, format := time.Hour, "15:04"
	for _, longer := range []time.Duration{3 * time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour} {
		if t.to.Sub(t.from) > most*step {
			step = longer
		}
	}
	if step >= 24*time.Hour {
		format = "Mon 2"
	}
	for at := t.from.UTC().Truncate(step).Add(step); at.Before(t.to); at = at.Add(step) {
		ticks = append(ticks, Tick{t.x(at), at.Format(format), len(ticks)%2 == 1, at})
	}
	return ticks
}

// rankChart draws one line per region, on a logarithmic scale, as the first places matter most.
func rankChart(paths []path, now time.Time) g.Node {
	worst, height, first := 10, ranksHeight/4, sightings(paths)[0].Place()
	for _, sighting := range sightings(paths) {
		if worst = max(worst, sighting.Place()); sighting.Place() != first {
			height = ranksHeight // a rank that never moved needs no room
		}
	}
	t, drawn := timelineOf(paths, now), lines(paths)
	y := func(rank int) int {
		return int(float64(height) * math.Log(float64(max(rank, 1))) / math.Log(float64(worst)))
	}
	c := LineChart{Label: fmt.Sprintf("Rank in %s; the same figures are in the table below",
		term.Plural(len(drawn), "region")), Height: height, Across: t.ticks()}
	for _, rank := range []int{1, 3, 10, 30, 100, 300} {
		if rank <= worst {
			c.Up = append(c.Up, Tick{At: y(rank), Text: fmt.Sprint(rank)})
		}
	}
	for _, p := range drawn {
		line := Line{Class: "line " + p.class, Name: string(p.Region), Path: t.steps(p, y), EndY: -1}
		if p.now {
			line.EndY = y(p.newest().Place())
		}
		c.Lines = append(c.Lines, line)
	}
	return g.Group{c.Node(), g.El("small", g.Text("It was first seen "), moment(t.from, dayAndTime+" UTC"), g.Text(
		". The scale goes by factors. A line has a gap where the video was out of the chart, or no chart was fetched."))}
}

// steps is the path of a rank, which lasts until the next chart. Several missing charts show as a gap.
func (t timeline) steps(p path, y func(rank int) int) string {
	var d strings.Builder
	at, rank := 0, 0 // of the last point
	for i, sighting := range p.seen {
		x := t.x(sighting.Slot)
		if i == 0 || sighting.Slot.Sub(p.seen[i-1].Slot) > 3*p.every {
			if i > 0 {
				fmt.Fprintf(&d, "H%d", t.x(p.seen[i-1].Slot.Add(p.every)))
			}
			fmt.Fprintf(&d, "M%d %d", x, y(sighting.Place()))
		} else if sighting.Place() == rank || x < at+apart && i < len(p.seen)-1 {
			continue
		} else {
			fmt.Fprintf(&d, "H%dV%d", x, y(sighting.Place()))
		}
		at, rank = x, sighting.Place()
	}
	fmt.Fprintf(&d, "H%d", t.x(p.newest().Slot.Add(p.every)))
	return d.String()
}

// viewsChart draws the views that any chart saw, starting at zero.
func viewsChart(paths []path, now time.Time) g.Node {
	seen, top := slices.DeleteFunc(sightings(paths), func(s report.SightingDocument) bool { return s.Views == nil }),
		int64(1)
	if len(seen) == 0 {
		return nil
	}
	for _, sighting := range seen {
		top = max(top, *sighting.Views)
	}
	t := timelineOf(paths, now)
	y := func(views int64) int { return viewsHeight - int(float64(views)/float64(top)*(viewsHeight-20)) }
	var d strings.Builder
	first, last := t.x(seen[0].Slot), -apart
	for i, sighting := range seen {
		if x := t.x(sighting.Slot); x >= last+apart || i == len(seen)-1 {
			fmt.Fprintf(&d, "L%d %d", x, y(*sighting.Views))
			last = x
		}
	}
	line := "M" + d.String()[1:]
	c := LineChart{Label: "Views, " + term.Thousands(*seen[len(seen)-1].Views) +
		" at last; the same figures are in the table below", Height: viewsHeight, Across: t.ticks(), Lines: []Line{
		{Class: "area", Path: fmt.Sprintf("%sV%dH%dZ", line, viewsHeight, first), EndY: -1},
		{Class: "line", Path: line, EndY: -1},
	}}
	step := int64(math.Pow10(int(math.Log10(float64(top)))))
	for top/step < 2 && step > 1 {
		step /= 2
	}
	for top/step > 4 {
		step *= 2
	}
	for n := step; n <= top; n += step {
		c.Up = append(c.Up, Tick{At: y(n), Text: term.Thousands(n)})
	}
	return section("Views over time", c.Node())
}
