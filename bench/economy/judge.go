package main

import (
	"slices"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// result is how a worker fared in a world, by the upstream's own count.
type result struct {
	charts  int           // whole ones
	mean    time.Duration // of the ages of all regions' newest charts, over all time
	oldest  time.Duration
	worst   float64 // charts of the region with the fewest, as a part of those of the one with the most
	units   int64   // charged by the upstream
	refused int64   // calls that the upstream refused for quota, of those that were not lied to
	wasted  int64   // units charged that are in no whole chart, and were no backfill's
	orphans int     // pages that were saved and are in no whole chart
	probes  int     // calls that asked whether a no still holds
	ages    []age
}

// age is how old the charts were, of all regions on average, at a time.
type age struct {
	at  time.Time
	age time.Duration
}

// judge watches a worker.
type judge struct {
	from, to time.Time
	charts   map[string][]time.Time // when each region's were completed
	orphans  int
	pages    int64 // of whole charts
	others   int64 // units that were not for charts
	probes   int
}

func newJudge(from, to time.Time, regions []string) *judge {
	j := &judge{from: from, to: to, charts: map[string][]time.Time{}}
	for _, r := range regions {
		j.charts[r] = nil
	}
	return j
}

func (j *judge) done(region string, at time.Time, pages int) {
	j.charts[region] = append(j.charts[region], at)
	j.pages += int64(pages)
}

// verdict adds up. A region that was never fetched is as old as the world.
func (j *judge) verdict(sim *youtubesim.Server) result {
	r := result{orphans: j.orphans, probes: j.probes}
	var counts []int
	sum := 0.0
	for _, times := range j.charts {
		counts = append(counts, len(times))
		r.charts += len(times)
		last := j.from
		for _, t := range append(slices.Clone(times), j.to) {
			span := t.Sub(last)
			r.oldest = max(r.oldest, span)
			sum += span.Hours() * span.Hours() / 2
			last = t
		}
	}
	r.mean = time.Duration(sum / float64(len(j.charts)) / j.to.Sub(j.from).Hours() * float64(time.Hour))
	if most := slices.Max(counts); most > 0 {
		r.worst = float64(slices.Min(counts)) / float64(most)
	}
	for _, call := range sim.Log() {
		r.units += call.Charges["units"]
		if call.Refused == "units" && call.Fault == "" {
			r.refused++
		}
	}
	r.wasted = r.units - j.pages - j.others
	for t := j.from; t.Before(j.to); t = t.Add(15 * time.Minute) {
		r.ages = append(r.ages, age{t, j.ageAt(t)})
	}
	return r
}

// ageAt is the mean age of the regions' newest charts at t.
func (j *judge) ageAt(t time.Time) time.Duration {
	var sum time.Duration
	for _, times := range j.charts {
		i, found := slices.BinarySearchFunc(times, t, time.Time.Compare)
		if found {
			i++
		}
		if i == 0 {
			sum += t.Sub(j.from)
		} else {
			sum += t.Sub(times[i-1])
		}
	}
	return sum / time.Duration(len(j.charts))
}
