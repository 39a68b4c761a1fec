package youtubesim

import (
	"slices"
	"time"

	"github.com/trendvidstream/ingest/internal/standin"
)

// Ledger is the stand-in's own count of arrivals since the start.
type Ledger struct {
	// Units is the charges to every pool of the table, in that pool's unit.
	Units map[string]int64 `json:"units"`
	// Calls are counted per method and status. Status 0 is a call that was counted and then dropped
	// without an answer.
	Calls []CallCount `json:"calls"`
	// Refused counts the calls that each pool refused. They were not charged.
	Refused map[string]int64 `json:"refused"`

	PerMinute int64            `json:"per_minute"` // calls refused by the limit per minute
	Regions   map[string]int64 `json:"regions"`    // charged calls per region
	Day       string           `json:"day"`        // the Pacific day now, "2006-01-02"
	Today     map[string]int64 `json:"today"`      // charged in that day, per pool
	Limits    map[string]int64 `json:"limits"`     // per Pacific day
	At        time.Time        `json:"at"`         // by the stand-in's clock
	Log       []Call           `json:"log,omitempty"`
}

// CallCount is how often a method was answered with a status.
type CallCount = standin.CallCount

// Call is one call that arrived, in order of arrival.
type Call struct {
	At        time.Time        `json:"at"`
	Method    string           `json:"method"`
	Region    string           `json:"region,omitempty"`
	PageToken string           `json:"page_token,omitempty"`
	Status    int              `json:"status"` // 0: dropped without an answer
	Charges   map[string]int64 `json:"charges,omitempty"`
	Refused   string           `json:"refused,omitempty"` // the pool that refused it, or "per_minute"
	Fault     string           `json:"fault,omitempty"`   // the fault that hit it
}

// countCalls counts a log's calls per method and status, sorted, and its charged calls per region.
func countCalls(log []Call) (calls []CallCount, regions map[string]int64) {
	regions = map[string]int64{}
	for _, call := range log {
		if call.Region != "" && len(call.Charges) > 0 {
			regions[call.Region]++
		}
	}
	return standin.CountCalls(log, func(c Call) (string, int) { return c.Method, c.Status }), regions
}

// maxInWindow returns the most that any trailing window of length d held of a pool. A call at t counts while now < t +
// d.
func maxInWindow(log []Call, pool string, d time.Duration) int64 {
	slices.SortStableFunc(log, func(a, b Call) int { return a.At.Compare(b.At) })
	var sum, most int64
	first := 0
	for _, call := range log {
		for !call.At.Before(log[first].At.Add(d)) && log[first].At.Before(call.At) {
			sum -= log[first].Charges[pool]
			first++
		}
		sum += call.Charges[pool]
		most = max(most, sum)
	}
	return most
}

// maxInDay returns the most charged to a pool on any day; day names the day of an instant.
func maxInDay(log []Call, pool string, day func(time.Time) string) int64 {
	sums := map[string]int64{}
	var most int64
	for _, call := range log {
		d := day(call.At)
		sums[d] += call.Charges[pool]
		most = max(most, sums[d])
	}
	return most
}
