package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

// result is a worker's performance in a world, by the upstream's own count.
type result struct {
	Charts    int           // complete charts
	Mean      time.Duration // average age of all regions' newest charts, over all time
	Oldest    time.Duration
	Worst     float64            // the region with the fewest charts, as a share of that with the most
	Units     int64              // charged by the upstream
	Refused   int64              // calls that the upstream rightly refused for quota
	Lied      int64              // calls that it refused for quota although some was left
	Wasted    int64              // units charged for useless answers: errors, broken ones, and orphans
	Orphans   int64              // chart pages that belong to no complete chart
	Refreshes int                // done refreshes
	Late      time.Duration      // 99th percentile of how much further apart a region's charts are than asked for
	Lasting   time.Duration      // Mean without the days of a surprise
	Rare      int                // complete charts of jobs other than the first
	Probes    int                // calls that asked whether a refusal still holds
	Seeds     int                // number of worlds; this is the worst of them
	Days      []int64            // calls rightly refused, on each of the provider's days
	Left      []int64            // units that others leave of each day
	Surprise  []bool             // the days on which others come as nothing told of
	Said      tally              // predictions, and how often they were true
	Surprised tally              // the same on the day of the surprise
	Away      int64              // units that our worker spent while the upstream did not answer
	Back      time.Duration      // until all regions had a chart again after that
	Done      map[string][]int64 // when each region's charts were completed, in seconds since 1970
}

// recorder records a worker's results.
type recorder struct {
	from, to        time.Time
	charts          map[string][]time.Time          // when the charts of each region were completed
	fetched         map[ingest.Series][]time.Time   // the same for every series of the first host
	sizes           map[ingest.Series]time.Duration // how often each chart of it is wanted
	away            int64                           // units that were spent while the upstream did not answer
	pages           int64                           // of complete charts
	probes          int
	refreshes, rare int
	stops           []time.Time // when quota stopped a chart
	sayings         []saying
	asked           []time.Time // when a call asked whether a refusal still holds
	now             func() time.Time
	world           world
}

func newRecorder(w world, now func() time.Time, from, to time.Time) *recorder {
	rec := &recorder{from: from, to: to, charts: map[string][]time.Time{}, fetched: map[ingest.Series][]time.Time{}, sizes: map[ingest.Series]time.Duration{}, now: now, world: w}
	for _, name := range w.names() {
		rec.charts[name] = nil
	}
	for _, job := range w.jobs() {
		for _, series := range job.Series() {
			if job.Kind == ingest.KindChart {
				rec.sizes[series] = job.Every
			}
		}
	}
	return rec
}

func (rec *recorder) done(region string, at time.Time) {
	rec.charts[region] = append(rec.charts[region], at)
}

// result sums up the results. A region that was never fetched is as old as the world.
func (rec *recorder) result(up *upstream) result {
	sim := up.sim
	r := result{Probes: rec.probes, Refreshes: rec.refreshes, Rare: rec.rare, Orphans: -rec.pages, Done: map[string][]int64{}}
	r.Said, r.Surprised = rec.truth(up)
	if rec.world.trouble.away > 0 && traced {
		fmt.Printf("away: %d spent, back after %s\n", rec.away, rec.back())
	}
	r.Away, r.Back = rec.away, rec.back()
	r.Days = make([]int64, len(up.taken))
	for _, taken := range up.taken {
		r.Left = append(r.Left, min(rec.world.units-taken, rec.world.units*95/100))
	}
	r.Late, r.Lasting, r.Surprise = rec.late(), rec.lasting(up), surprises(up.taken)
	var counts []int
	sum := 0.0
	for region, times := range rec.charts {
		r.Done[region] = nil
		for _, t := range times {
			r.Done[region] = append(r.Done[region], t.Unix())
		}
		counts = append(counts, len(times))
		if traced {
			fmt.Printf("%s: %d charts\n", region, len(times))
		}
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
			if traced {
				fmt.Printf("%s refused, of %s\n", call.At.Format("01-02 15:04"), call.Region)
			}
			r.Days[up.day(call.At)]++
		case !good:
			r.Wasted += call.Charges["units"]
		case call.Method == "videos.list" && call.Region != "":
			r.Orphans++
		}
	}
	r.Wasted += r.Orphans
	return r
}

// back returns how long after the upstream's absence the last region had a chart again.
func (rec *recorder) back() (longest time.Duration) {
	if rec.world.trouble.away == 0 {
		return 0
	}
	returned := rec.from.Add(awayAt + rec.world.trouble.away)
	for _, times := range rec.charts {
		came, ok := after(times, returned)
		if !ok {
			came = rec.to
		}
		longest = max(longest, came.Sub(returned))
	}
	return longest
}

// ageAt returns the mean age of the regions' newest charts at t. Before its first chart, a region's age counts from
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

// late returns the 99th percentile of how much further apart a region's charts are than asked for.
func (rec *recorder) late() time.Duration {
	var all []time.Duration
	for _, times := range rec.charts {
		for i := 1; i < len(times); i++ {
			all = append(all, times[i].Sub(times[i-1])-rec.world.every)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)*99/100]
}

// surprise reports whether others take more on a day than on the day before, and nothing told of that: they come for
// the first time or, after a free day, for the first time on that weekday.
func surprise(taken []int64, day int) bool {
	first := slices.IndexFunc(taken, func(n int64) bool { return n > 0 })
	switch {
	case first < 0 || taken[day] == 0:
		return false
	case day == first:
		return true
	}
	return taken[day-1] == 0 && (day < 7 || taken[day-7] == 0)
}

// surprises returns surprise of each day.
func surprises(taken []int64) (all []bool) {
	for day := range taken {
		all = append(all, surprise(taken, day))
	}
	return all
}

// lasting returns the mean age of the charts without the day of the surprise, which cannot be foreseen when it
// begins.
func (rec *recorder) lasting(up *upstream) time.Duration {
	sum, days := 0.0, 0
	for day, begins := range up.days {
		mean := rec.meanOn(begins)
		if traced && day == 0 {
			fmt.Printf("late %s\n", rec.late())
		}
		if traced {
			fmt.Printf("day %d: mean age %.2f h\n", day, mean)
		}
		if !surprise(up.taken, day) {
			sum, days = sum+mean, days+1
		}
	}
	return time.Duration(sum / float64(max(days, 1)) * float64(time.Hour))
}

// meanOn returns the mean age of the charts on the day that begins at that time, in hours.
func (rec *recorder) meanOn(day time.Time) float64 {
	sum, ends := 0.0, day.AddDate(0, 0, 1) // 23 to 25 hours: day is in the provider's zone
	for _, times := range rec.charts {
		newest, at := rec.from, day
		grow := func(to time.Time) { // from at - newest to to - newest
			sum += to.Sub(at).Hours() * (at.Sub(newest) + to.Sub(newest)).Hours() / 2
			at = to
		}
		for _, t := range times {
			if t.Before(ends) && !t.Before(day) {
				grow(t)
			}
			if t.Before(ends) {
				newest = t
			}
		}
		grow(ends)
	}
	return sum / float64(len(rec.charts)) / ends.Sub(day).Hours()
}
