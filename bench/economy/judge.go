package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
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
	Days      []int64            // calls rightly refused, on each day
	Left      []int64            // units that others leave of each day
	Next      said               // what was said, and how often it was true: when the next chart comes,
	Resumes   said               // the same while nothing is left,
	Every     said               // the interval,
	Fits      said               // and that everything fits
	Done      map[string][]int64 // when each region's charts were completed, in seconds since 1970
}

// recorder records a worker's results.
type recorder struct {
	from, to        time.Time
	charts          map[string][]time.Time // when each region's were completed
	pages           int64                  // of complete charts
	probes          int
	refreshes, rare int
	stops           []time.Time // of charts, by quota
	sayings         []saying
	now             func() time.Time
	world           world
}

func newRecorder(w world, now func() time.Time, from, to time.Time) *recorder {
	rec := &recorder{from: from, to: to, charts: map[string][]time.Time{}, now: now, world: w}
	for _, name := range w.names() {
		rec.charts[name] = nil
	}
	return rec
}

func (rec *recorder) done(region string, at time.Time) {
	rec.charts[region] = append(rec.charts[region], at)
}

// result adds up the results. A region that was never fetched is as old as the world.
func (rec *recorder) result(up *upstream) result {
	sim := up.sim
	r := result{Probes: rec.probes, Refreshes: rec.refreshes, Rare: rec.rare, Orphans: -rec.pages, Done: map[string][]int64{}}
	r.Next, r.Resumes, r.Every, r.Fits = rec.truth(rec.world.regions)
	r.Days = make([]int64, len(up.taken))
	for _, taken := range up.taken {
		r.Left = append(r.Left, min(rec.world.units-taken, rec.world.units*95/100))
	}
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
	if traced {
		rec.traceDays()
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
			if traced {
				fmt.Printf("%s refused, of %s\n", call.At.Format("01-02 15:04"), call.Region)
			}
			r.Days[min(int(call.At.Sub(rec.from)/(24*time.Hour)), len(r.Days)-1)]++
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

// traceDays prints the mean age of the charts on each day.
func (rec *recorder) traceDays() {
	for day := rec.from; day.Before(rec.to); day = day.AddDate(0, 0, 1) {
		sum := time.Duration(0)
		for at := day; at.Before(day.AddDate(0, 0, 1)); at = at.Add(5 * time.Minute) {
			for _, times := range rec.charts {
				newest := rec.from
				if i, _ := slices.BinarySearchFunc(times, at.Add(1), time.Time.Compare); i > 0 {
					newest = times[i-1]
				}
				sum += at.Sub(newest)
			}
		}
		fmt.Printf("%s mean age %.2f h\n", day.Format("01-02"), sum.Hours()/float64(len(rec.charts)*24*12))
	}
}
