package ingest

import "time"

// CallBuckets are the upper bounds of CallStats.Buckets, in seconds: from a stand-in nearby to a call that times out.
var CallBuckets = []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// Calls counts the calls sent to an upstream, by method, retries included.
type Calls map[string]CallStats

// CallStats is how the calls of one method were answered.
type CallStats struct {
	Verdicts map[string]int64 `json:"verdicts"` // "ok", or what the error means
	Seconds  float64          `json:"seconds"`  // in total
	Buckets  []int64          `json:"buckets"`  // calls that took at most CallBuckets[i], and longer than CallBuckets[i-1]
}

// Add counts one call.
func (c Calls) Add(method, verdict string, took time.Duration) {
	of := CallStats{Verdicts: map[string]int64{verdict: 1}, Seconds: took.Seconds(), Buckets: make([]int64, len(CallBuckets))}
	for i, most := range CallBuckets {
		if took.Seconds() <= most {
			of.Buckets[i]++
			break
		}
	}
	c.Merge(Calls{method: of})
}

// Merge adds the counts of other.
func (c Calls) Merge(other Calls) {
	for method, more := range other {
		sum := CallStats{Verdicts: map[string]int64{}, Seconds: c[method].Seconds + more.Seconds, Buckets: make([]int64, len(CallBuckets))}
		for _, of := range []CallStats{c[method], more} {
			for verdict, n := range of.Verdicts {
				sum.Verdicts[verdict] += n
			}
			for i, n := range of.Buckets[:min(len(of.Buckets), len(CallBuckets))] {
				sum.Buckets[i] += n
			}
		}
		c[method] = sum
	}
}
