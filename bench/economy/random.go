package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/regions"
)

// inRandomWorlds runs our worker in n random worlds, across both clock changes, and reports which of the promises
// that hold in every world it broke.
func inRandomWorlds(ctx context.Context, out io.Writer, n, days int, seed uint64) error {
	broken := 0
	for i := range uint64(n) {
		random := rand.New(rand.NewPCG(seed, i)) //nolint:gosec // a simulation
		w, from := randomWorld(random)
		r, err := ours(options{})(ctx, w, seed+i, from, from.AddDate(0, 0, days))
		if err != nil {
			return fmt.Errorf("seed %d, world %d, %s: %w", seed, i, w, err)
		}
		found := brokenIn(w, r, days)
		if len(found) > 0 {
			broken++
		}
		fmt.Fprintf(out, "%d: %s, %d regions x %d pages every %s%s, %s, from %s: %s\n   %s\n", i, w, len(w.regions), w.pages, w.every, alsoOf(w), w.trouble.name,
			from.Format(time.DateOnly), strings.Join((simulated{result: r}).cells(days), " | "), strings.Join(append(found, fmt.Sprintf("%d broken", len(found))), "; "))
	}
	if broken > 0 {
		return fmt.Errorf("promises are broken in %d of %d worlds", broken, n)
	}
	return nil
}

// worstOf returns a worker whose result is the worst of several random variants of one world: the oldest charts, the
// most refused on each day, and the most wasted in any of them, with the predictions of all.
func worstOf(work worker) worker {
	return func(ctx context.Context, w world, seed uint64, from, to time.Time) (worst result, err error) {
		for i := range uint64(max(w.trouble.seeds, 1)) {
			r, err := work(ctx, w, seed+i, from, to)
			if err != nil {
				return r, err
			}
			if i == 0 {
				worst = r
				continue
			}
			other := r
			if r.Lasting > worst.Lasting {
				worst, other = r, worst
			}
			for day, n := range other.Days {
				worst.Days[day] = max(worst.Days[day], n)
			}
			worst.Refused, worst.Wasted, worst.Orphans = max(worst.Refused, other.Refused), max(worst.Wasted, other.Wasted), max(worst.Orphans, other.Orphans)
			worst.Worst = min(worst.Worst, other.Worst)
			worst.Said.add(other.Said)
			worst.Surprised.add(other.Surprised)
		}
		worst.Seeds = max(w.trouble.seeds, 1)
		return worst, nil
	}
}

// randomWorld returns a world whose schedule costs up to some 3,000 units a day, with any budget.
func randomWorld(random *rand.Rand) (w world, from time.Time) {
	codes := regions.Default()
	pick := func(n ...int64) int64 { return n[random.IntN(len(n))] }
	for {
		w = world{every: time.Duration(pick(5, 10, 15, 30, 60, 120, 360)) * time.Minute, pages: 1 + random.IntN(4), trouble: []trouble{clean, clean, faulty, lying}[random.IntN(4)]}
		random.Shuffle(len(codes), func(i, j int) { codes[i], codes[j] = codes[j], codes[i] })
		w.regions = append(w.regions, codes[:1+random.IntN(len(codes))]...)
		if random.IntN(3) == 0 {
			w.also = []ingest.Job{{Name: "music", Kind: ingest.KindChart, Category: "10", Regions: codes[:1+random.IntN(len(codes))], Every: time.Duration(pick(20, 45, 180)) * time.Minute, Pages: 1 + random.IntN(2)}}
		}
		if w.price() < 3_000 {
			w.units = pick(150, 300, 700, 1_500, 2_500, 10_000, 10+random.Int64N(3_000))
			if w.backfill = random.IntN(4) == 0 && w.units >= 700; w.backfill {
				w.backlogs = 1
			}
			break
		}
	}
	from = start
	if random.IntN(2) == 0 {
		from = time.Date(2027, 3, 12, 8, 0, 0, 0, time.UTC) // two days before the day of 23 hours
	}
	return w, from.Add(time.Duration(random.IntN(24)) * time.Hour)
}

// price returns the daily cost of the world's schedule.
func (w world) price() float64 {
	sum := 0.0
	for _, job := range w.jobs() {
		sum += float64(len(job.Regions)*job.Pages) * (24 * time.Hour).Hours() / job.Every.Hours()
	}
	return sum
}

// brokenIn returns the broken promises, among the promises that hold under any schedule and budget.
func brokenIn(w world, r result, days int) (broken []string) {
	promise := func(kept bool, format string, args ...any) {
		if !kept {
			broken = append(broken, fmt.Sprintf(format, args...))
		}
	}
	promise(r.Refused == 0, "the upstream refused %d calls", r.Refused)
	// A false refusal in the middle of a chart may be doubted until after the next chart: the pages before it are lost.
	torn := r.Lied * int64(max(w.pages, 2)-1)
	promise(r.Orphans <= torn, "%d orphan pages", r.Orphans)
	absent := int64(0) // a region without such a chart is tried once a day
	for _, job := range w.also {
		absent += int64(len(job.Regions) * (days + 1))
	}
	inError := float64(torn + r.Lied)
	if w.trouble.name == faulty.name {
		inError += 0.04*float64(r.Units) + 4
	}
	promise(float64(r.Wasted-absent) <= inError, "%d of %d units wasted", r.Wasted, r.Units)
	promise(r.Probes <= 14*days, "%d probes", r.Probes)
	most := r.Worst * float64(r.Charts) / float64(len(w.regions))
	twice := 1.5
	if w.backfill { // once a day, when its units leave the window, the schedule briefly runs at its own interval
		twice = float64(days)
	}
	promise(r.Worst >= 0.95 || most*(1-r.Worst) <= twice, "the worst region has %.2f of the best one's charts", r.Worst)
	if r.Charts > 0 {
		each := time.Duration(float64(days) * 24 * float64(time.Hour) * float64(len(w.regions)) / float64(r.Charts))
		promise(r.Mean <= each*3/4+10*time.Minute, "mean age %.2f h where charts come every %.2f h", r.Mean.Hours(), each.Hours())
		promise(r.Oldest <= each*5/2+30*time.Minute, "oldest %.2f h where charts come every %.2f h", r.Oldest.Hours(), each.Hours())
	}
	// The schedule gets nearly its whole allowance, or its cost.
	wanted := min(w.price(), 0.95*float64(w.units)) * float64(days)
	used := float64(r.Units)
	if !w.backfill && w.also == nil { // a chart of a category ends early
		promise(used >= 0.85*wanted-20, "%.0f of the %.0f units used that the schedule may use and would", used, wanted)
	}
	return broken
}

// alsoOf describes the jobs besides the charts.
func alsoOf(w world) (text string) {
	for _, job := range w.also {
		text += fmt.Sprintf(" and %d x %d every %s", len(job.Regions), job.Pages, job.Every)
	}
	return text
}
