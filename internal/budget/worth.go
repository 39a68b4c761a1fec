package budget

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/regions"
)

const (
	// maxBelowMean is the factor by which the least weight may be below the mean, and so the longest interval above the
	// mean one. It is less than the two rounds after which a key is due whatever its weight.
	maxBelowMean = 1.75
	// partsOfDay is how many parts a region's day is divided into: four of six hours, in UTC.
	partsOfDay = 4
	// trustAfter is how long a region has to be watched until what was seen there counts as much as what all regions
	// have in common, and a part of its day as much as the whole.
	trustAfter = 24 * time.Hour
	// maxChartGap is the time between two charts after which too much came and went between them to count.
	maxChartGap = 24 * time.Hour
)

// Weights returns how much a minute of age counts for each key, with a mean of 1, by how fast its charts moved in the
// past: the square root of what is expected to be new per hour since its newest slot. With these weights, equally many
// charts have the least mean delay: a region whose chart moves four times as fast is fetched twice as often. No weight
// is below the mean by more than maxBelowMean. If nothing was seen, all weigh the same.
func Weights(keys []string, seen []ingest.ChartMove, newest map[string]time.Time, now time.Time) map[string]float64 {
	var all observation
	of := map[string]*observation{}
	for _, key := range keys {
		of[key] = &observation{}
	}
	for _, m := range seen {
		if o := of[m.Key]; o != nil && m.To.After(m.From) && m.To.Sub(m.From) <= maxChartGap {
			o.add(m)
			all.add(m)
		}
	}
	weights, mean := map[string]float64{}, rate(all.total())
	if mean == 0 {
		return weights
	}
	for _, key := range keys {
		weights[key] = math.Sqrt(of[key].expectedRate(newest[key], now, mean))
	}
	normalizeWeights(weights)
	return weights
}

// normalizeWeights sets the mean of weights to 1 and lifts those that are too low.
func normalizeWeights(weights map[string]float64) {
	for range 8 { // lifting one raises the mean, a little less each time
		sum := 0.0
		for _, w := range weights {
			sum += w
		}
		mean := sum / float64(len(weights))
		for key, w := range weights {
			weights[key] = max(w/mean, 1/maxBelowMean)
		}
	}
}

// observation is how much was new in a chart, and for how many hours it was watched, by the part of the day.
type observation struct{ fresh, hours [partsOfDay]float64 }

func (o *observation) add(m ingest.ChartMove) {
	whole := m.To.Sub(m.From).Hours()
	eachPart(m.From, m.To, func(part int, hours float64) {
		o.hours[part] += hours
		o.fresh[part] += float64(m.New) * hours / whole
	})
}

func (o *observation) total() (fresh, hours float64) {
	for part := range partsOfDay {
		fresh, hours = fresh+o.fresh[part], hours+o.hours[part]
	}
	return fresh, hours
}

// expectedRate returns how much of a chart is new per hour from its newest slot to now; mean is that of all charts
// together.
func (o *observation) expectedRate(newest, now time.Time, mean float64) float64 {
	newest = laterOf(newest, now.Add(-maxChartGap))
	fresh, hours := o.total()
	own := (fresh + mean*trustAfter.Hours()) / (hours + trustAfter.Hours())
	if !newest.Before(now) {
		return own
	}
	sum := 0.0
	eachPart(newest, now, func(part int, hours float64) {
		sum += hours * (o.fresh[part] + own*trustAfter.Hours()/partsOfDay) / (o.hours[part] + trustAfter.Hours()/partsOfDay)
	})
	return sum / now.Sub(newest).Hours()
}

// rate returns how much was new per hour; 0 if nothing was watched.
func rate(fresh, hours float64) float64 {
	if hours == 0 {
		return 0
	}
	return fresh / hours
}

// eachPart calls tell with the hours in each part of the day from one time to another.
func eachPart(from, to time.Time, tell func(part int, hours float64)) {
	const length = day / partsOfDay
	for from.Before(to) {
		end := from.Truncate(length).Add(length)
		if to.Before(end) {
			end = to
		}
		tell(int(from.Unix()%int64(day.Seconds())/int64(length.Seconds())), end.Sub(from).Hours())
		from = end
	}
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// setWeights sets the weights of the charts that are paced, if Moves is set. If the moves cannot be read, all weigh the
// same.
func (p Pacer) setWeights(ctx context.Context, jobs []Pace, paces map[string]regions.Pace, known map[ingest.Series]time.Time, now time.Time) {
	for i, job := range jobs {
		if p.Moves == nil || job.Job.Kind != ingest.KindChart || len(job.Job.Regions) < 2 {
			continue
		}
		seen, err := p.Moves(ctx, job.Job.Name)
		if err != nil {
			continue
		}
		var keys []string
		newest := map[string]time.Time{}
		for _, of := range job.Job.Series() {
			keys, newest[of.Key] = append(keys, of.Key), known[of]
		}
		jobs[i].Weights = Weights(keys, seen, newest, now)
		paces[job.Job.Name] = jobs[i].Pace
	}
}

// worthText says which key comes most often and which least; "" if all come about equally often.
func (p Pace) worthText() string {
	keys := slices.SortedFunc(maps.Keys(p.Weights), func(a, b string) int {
		return cmp.Or(cmp.Compare(p.Weights[b], p.Weights[a]), cmp.Compare(a, b))
	})
	if len(keys) == 0 || p.Weights[keys[0]]-p.Weights[keys[len(keys)-1]] < 0.05 {
		return ""
	}
	most, least := keys[0], keys[len(keys)-1]
	return fmt.Sprintf(", by worth %s %.1f times as often and %s %.1f", most, p.Weights[most], least, p.Weights[least])
}
