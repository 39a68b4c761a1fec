package budget_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/regions"
)

// moved returns a week in which so much was new in a region every hour.
func moved(key string, fresh func(hour int) int) (all []ingest.ChartMove) {
	for i := range 7 * 24 {
		from := start.Truncate(24 * time.Hour).Add(time.Duration(i-7*24) * time.Hour)
		all = append(all, ingest.ChartMove{Key: key, From: from, To: from.Add(time.Hour), New: fresh(i % 24)})
	}
	return all
}

func always(n int) func(int) int { return func(int) int { return n } }

func TestWeightsFollowHowFastChartsMove(t *testing.T) {
	keys := []string{"US", "GB", "DE"}
	for _, tt := range []struct {
		name string
		seen []ingest.ChartMove
		want []float64
	}{
		{"nothing was seen", nil, nil},
		{"nothing was new", moved("US", always(0)), nil},
		{"all alike", slices.Concat(moved("US", always(3)), moved("GB", always(3)), moved("DE", always(3))), []float64{1, 1, 1}},
		{"the square root", slices.Concat(moved("US", always(9)), moved("GB", always(4)), moved("DE", always(4))), []float64{1.26, 0.87, 0.87}},
		{"none comes less often than 1/1.75 of the mean", slices.Concat(moved("US", always(100)), moved("GB", always(1)), moved("DE", always(1))), []float64{1.86, 0.57, 0.57}},
		{"a region nobody has seen is like the mean", slices.Concat(moved("US", always(4)), moved("GB", always(4))), []float64{1, 1, 1}},
		{"a day without a chart says nothing", []ingest.ChartMove{{Key: "US", From: start.Add(-25 * time.Hour), To: start, New: 50}}, nil},
		{"a region that is no more", moved("FR", always(4)), nil},
	} {
		weights := budget.Weights(keys, tt.seen, map[string]time.Time{}, start)
		if len(weights) != len(tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, weights, tt.want)
			continue
		}
		for i, want := range tt.want {
			if got := weights[keys[i]]; math.Abs(got-want) > 0.03 {
				t.Errorf("%s: %s weighs %.2f, want %.2f", tt.name, keys[i], got, want)
			}
		}
	}
}

// Both charts bring the same amount a day, one of them only between 06:00 and 12:00.
func TestWeightsFollowTheHour(t *testing.T) {
	seen := slices.Concat(moved("US", always(2)), moved("GB", func(hour int) int {
		if hour/6 == 1 {
			return 8
		}
		return 0
	}))
	midnight := start.Truncate(24 * time.Hour)
	for _, tt := range []struct {
		hour  int
		worth bool // of GB, more than US
	}{{3, false}, {9, true}, {15, false}, {21, false}} {
		now := midnight.Add(time.Duration(tt.hour) * time.Hour)
		newest := map[string]time.Time{"US": now.Add(-2 * time.Hour), "GB": now.Add(-2 * time.Hour)}
		if w := budget.Weights([]string{"US", "GB"}, seen, newest, now); (w["GB"] > w["US"]) != tt.worth {
			t.Errorf("at %d:00: %v", tt.hour, w)
		}
	}
}

// Charts move at random, some twenty times as fast as others. With their weights what is new in them waits less than
// if they take turns, and no region waits for more than twice the mean interval.
func TestWorthShortensTheDelayAndForgetsNobody(t *testing.T) {
	perHour := map[string]float64{"US": 10, "GB": 6, "DE": 3, "FR": 2, "IN": 1, "BR": 1, "AU": 0.5, "CA": 0.5}
	const gap, weeks = 15 * time.Minute, 3
	live := func(weigh bool) (delay time.Duration, longest time.Duration) {
		random := rand.New(rand.NewPCG(7, 7))
		newest, known := map[string]time.Time{}, map[ingest.Series]time.Time{}
		var keys []string
		for _, r := range regions.Default() {
			keys, newest[string(r)] = append(keys, string(r)), start
		}
		var seen []ingest.ChartMove
		pace := regions.Pace{Gap: gap}
		waits, news := 0.0, 0
		for now := start.Add(gap); now.Before(start.AddDate(0, 0, 7*weeks)); now = now.Add(gap) {
			if weigh {
				pace.Weights = budget.Weights(keys, seen[max(0, len(seen)-200):], newest, now)
			}
			for of := range newest {
				known[ingest.Series{Job: "chart", Key: of}] = newest[of]
			}
			schedule, err := regions.NewSchedule([]ingest.Job{chart(time.Minute, 1, regions.Default()...)})
			if err != nil {
				t.Fatal(err)
			}
			pace.Last = now.Add(-gap)
			next := (regions.Paced{Schedule: schedule, Paces: map[string]regions.Pace{"chart": pace}}).Upcoming(known, now.Add(-time.Second), 1, "")
			key := next[0].Key
			age := now.Sub(newest[key])
			fresh := int(perHour[key]*age.Hours() + random.Float64()) // rounded at random
			seen = append(seen, ingest.ChartMove{Key: key, From: newest[key], To: now, New: fresh})
			waits, news, longest = waits+float64(fresh)*age.Hours()/2, news+fresh, max(longest, age)
			newest[key] = now
		}
		return time.Duration(waits / float64(news) * float64(time.Hour)), longest
	}
	alike, longest := live(false)
	weighed, longestWeighed := live(true)
	if round := 8 * gap; longest != round || longestWeighed > 2*round {
		t.Errorf("the longest interval is %v, and %v by weights, of a round of %v", longest, longestWeighed, round)
	}
	if part := weighed.Seconds() / alike.Seconds(); part > 0.92 {
		t.Errorf("the mean delay is %v, and %v by weights: %.2f of it", alike, weighed, part)
	}
}
