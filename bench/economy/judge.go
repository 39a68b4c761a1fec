package main

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// result is a worker's performance in a world, by the upstream's own count.
type result struct {
	Charts    int           // complete ones
	Mean      time.Duration // of the ages of all regions' newest charts, over all time
	Oldest    time.Duration
	Worst     float64            // fewest charts of a region, as a share of the most of any
	Units     int64              // charged by the upstream
	Refused   int64              // calls that the upstream rightly refused for quota
	Lied      int64              // calls that it refused for quota although some was left
	Wasted    int64              // units charged for useless answers: errors, broken ones, and orphans
	Orphans   int64              // chart pages that belong to no complete chart
	Refreshes int                // that were done
	Rare      int                // charts of jobs other than the first, done with all their pages
	Probes    int                // calls that asked whether a refusal still holds
	Done      map[string][]int64 // when each region's charts were completed, in seconds since 1970
}

// recorder records a worker's results.
type recorder struct {
	from, to        time.Time
	charts          map[string][]time.Time // when each region's were completed
	pages           int64                  // of complete charts
	probes          int
	refreshes, rare int
}

func newRecorder(from, to time.Time, regions []ingest.Region) *recorder {
	rec := &recorder{from: from, to: to, charts: map[string][]time.Time{}}
	for _, r := range regions {
		rec.charts[string(r)] = nil
	}
	return rec
}

func (rec *recorder) done(region string, at time.Time) {
	rec.charts[region] = append(rec.charts[region], at)
}

// result adds up the results. A region that was never fetched is as old as the world.
func (rec *recorder) result(sim *youtubesim.Server) result {
	r := result{Probes: rec.probes, Refreshes: rec.refreshes, Rare: rec.rare, Orphans: -rec.pages, Done: map[string][]int64{}}
	var counts []int
	sum := 0.0
	for region, times := range rec.charts {
		r.Done[region] = nil
		for _, t := range times {
			r.Done[region] = append(r.Done[region], t.Unix())
		}
		counts = append(counts, len(times))
		r.Charts += len(times)
		last := rec.from
		for _, t := range append(slices.Clone(times), rec.to) {
			span := t.Sub(last)
			r.Oldest = max(r.Oldest, span)
			sum += span.Hours() * span.Hours() / 2
			last = t
		}
	}
	r.Mean = time.Duration(sum / float64(len(rec.charts)) / rec.to.Sub(rec.from).Hours() * float64(time.Hour))
	if most := slices.Max(counts); most > 0 {
		r.Worst = float64(slices.Min(counts)) / float64(most)
	}
	for _, call := range sim.Log() {
		r.Units += call.Charges["units"]
		if strings.HasPrefix(call.Fault, "403quota") {
			r.Lied++
		}
		good := call.Status == http.StatusOK && (call.Fault == "" || strings.HasPrefix(call.Fault, "slow="))
		switch {
		case call.Refused == "units" && call.Fault == "":
			r.Refused++
		case !good:
			r.Wasted += call.Charges["units"]
		case call.Method == "videos.list" && call.Region != "":
			r.Orphans++
		}
	}
	r.Wasted += r.Orphans
	return r
}

// ageAt returns the mean age of the regions' newest charts at t; before its first chart a region's age counts from
// from.
func (r result) ageAt(t, from time.Time) time.Duration {
	var sum time.Duration
	for _, times := range r.Done {
		newest := from
		if i, _ := slices.BinarySearch(times, t.Unix()+1); i > 0 {
			newest = time.Unix(times[i-1], 0)
		}
		sum += t.Sub(newest)
	}
	return sum / time.Duration(len(r.Done))
}
