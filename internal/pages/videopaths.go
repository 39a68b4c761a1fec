package pages

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
)

// path is a video's way through the charts of a job in a region.
type path struct {
	ingest.Region
	job   string
	name  string                    // of the job, if it is not the region's first; "": it is
	class string                    // of the region's line
	every time.Duration             // between two charts, as far as known
	now   bool                      // it is in the newest chart
	seen  []report.SightingDocument // oldest first
}

func (p path) newest() report.SightingDocument { return p.seen[len(p.seen)-1] }

// dayBefore returns the rank in the newest chart that is a day older than the last one; 0 if the video was not in one.
func (p path) dayBefore() int {
	for _, before := range slices.Backward(p.seen) {
		if !before.Slot.After(p.newest().Slot.Add(-24 * time.Hour)) {
			return before.Place()
		}
	}
	return 0
}

// sightings returns the sightings of all paths, oldest first.
func sightings(paths []path) (seen []report.SightingDocument) {
	for _, p := range paths {
		seen = append(seen, p.seen...)
	}
	slices.SortStableFunc(seen, func(a, b report.SightingDocument) int { return a.Slot.Compare(b.Slot) })
	return seen
}

// pathsOf groups sightings by chart, in the order of the config; charts no longer in the config come last.
func pathsOf(seen []report.SightingDocument, all report.RegionsDocument) []path {
	var paths []path
	add := func(region ingest.Region, job report.ChartJobDocument, name string) {
		if slices.ContainsFunc(paths, func(p path) bool { return p.Region == region && p.job == job.Job }) {
			return
		}
		p := path{Region: region, job: job.Job, name: name}
		for _, sighting := range seen {
			if sighting.Region == region && sighting.Job == job.Job {
				p.seen = append(p.seen, sighting)
			}
		}
		if len(p.seen) == 0 {
			return
		}
		slices.SortStableFunc(p.seen, func(a, b report.SightingDocument) int { return a.Slot.Compare(b.Slot) })
		for i := 1; i < len(p.seen); i++ {
			if between := p.seen[i].Slot.Sub(p.seen[i-1].Slot); between > 0 && (p.every == 0 || between < p.every) {
				p.every = between
			}
		}
		p.every = cmp.Or(p.every, 30*time.Minute)
		p.now = job.Slot != nil && !p.newest().Slot.Before(job.Slot.Truncate(time.Second))
		paths = append(paths, p)
	}
	for _, region := range all.Regions {
		for i, job := range region.Jobs {
			name := ""
			if i > 0 {
				name = jobName(job)
			}
			add(region.Region, job, name)
		}
	}
	for _, sighting := range seen {
		add(sighting.Region, report.ChartJobDocument{Job: sighting.Job}, sighting.Job)
	}
	for i := range paths {
		paths[i].class = fmt.Sprintf("r%d", slices.Index(regionsOf(paths), paths[i].Region)%8+1)
	}
	return paths
}

// rankedOf returns the paths in charts of regions: a watch list has counts of its videos, and no ranks.
func rankedOf(paths []path) []path {
	return slices.DeleteFunc(slices.Clone(paths), func(p path) bool { return p.Region == "" })
}

// regionsOf lists the regions of paths, each once.
func regionsOf(paths []path) (list []ingest.Region) {
	for _, p := range paths {
		if !slices.Contains(list, p.Region) {
			list = append(list, p.Region)
		}
	}
	return list
}

// day is the table's text about a day, or about a slot.
type day struct {
	at     time.Time // of the last slot in it
	ranks  map[ingest.Region]int
	views  *int64
	gained *int64 // since the previous day in the table
}

// daysOf returns the last slot of each unit of time, newest first, in each region's first chart.
func daysOf(paths []path, unit time.Duration) (days []day) {
	for _, sighting := range sightings(lines(paths)) {
		if n := len(days); n == 0 || !days[n-1].at.Truncate(unit).Equal(sighting.Slot.Truncate(unit)) {
			days = append(days, day{ranks: map[ingest.Region]int{}})
		}
		last := &days[len(days)-1]
		last.at, last.ranks[sighting.Region] = sighting.Slot, sighting.Place()
		if sighting.Views != nil {
			last.views = sighting.Views
		}
	}
	for i := 1; i < len(days); i++ {
		if before, after := days[i-1].views, days[i].views; before != nil && after != nil {
			days[i].gained = new(*after - *before)
		}
	}
	slices.Reverse(days)
	return days
}

// lines are the paths that are drawn: one per region.
func lines(paths []path) (drawn []path) {
	for _, p := range paths {
		if !slices.ContainsFunc(drawn, func(other path) bool { return other.Region == p.Region }) {
			drawn = append(drawn, p)
		}
	}
	return drawn
}
