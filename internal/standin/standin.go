// Package standin holds the parts that the stand-ins of the upstreams share: faults, hashes of seeds, counts of calls
// and how they are served. It imports nothing of the program that the stand-ins judge.
package standin

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// CallCount is how often a method was answered with a status.
type CallCount struct {
	Method string `json:"method"`
	Status int    `json:"status"`
	Count  int64  `json:"count"`
}

// CountCalls counts calls per method and status, sorted by both. No calls are an empty list, not nil.
func CountCalls[C any](log []C, of func(C) (method string, status int)) []CallCount {
	counts := map[CallCount]int64{}
	for _, call := range log {
		method, status := of(call)
		counts[CallCount{Method: method, Status: status}]++
	}
	calls := []CallCount{}
	for k, n := range counts {
		calls = append(calls, CallCount{k.Method, k.Status, n})
	}
	slices.SortFunc(calls, func(a, b CallCount) int {
		return cmp.Or(cmp.Compare(a.Method, b.Method), cmp.Compare(a.Status, b.Status))
	})
	return calls
}

// Ledger is the stand-in's own count of arrivals since the start.
type Ledger struct {
	// Units is the charges to every pool, in that pool's unit.
	Units map[string]int64 `json:"units"`
	// Calls are counted per method and status. Status 0 is a call that was counted and then dropped
	// without an answer.
	Calls []CallCount `json:"calls"`
	// Refused counts the calls that each pool refused. They were not charged.
	Refused map[string]int64 `json:"refused"`

	PerMinute int64            `json:"per_minute"` // calls refused by the limit per minute
	Regions   map[string]int64 `json:"regions"`    // charged calls per region
	Day       string           `json:"day"`        // the day now, "2006-01-02"
	Today     map[string]int64 `json:"today"`      // charged in that day, per pool
	Limits    map[string]int64 `json:"limits"`     // per day
	At        time.Time        `json:"at"`         // by the stand-in's clock
	Log       []Call           `json:"log,omitempty"`
}

// Call is one call that arrived, in order of arrival.
type Call struct {
	At        time.Time        `json:"at"`
	Method    string           `json:"method"`
	Region    string           `json:"region,omitempty"`
	PageToken string           `json:"page_token,omitempty"`
	Status    int              `json:"status"` // 0: dropped without an answer
	Charges   map[string]int64 `json:"charges,omitempty"`
	Refused   string           `json:"refused,omitempty"` // the pool that refused it, or PerMinute
	Fault     string           `json:"fault,omitempty"`   // the fault that hit it
}

// Serve answers with the ledger, which no cache may keep; ?log=1 adds the calls one by one.
func (c *Counter) Serve(w http.ResponseWriter, r *http.Request) {
	l := c.Ledger()
	if r.URL.Query().Get("log") == "1" {
		l.Log = c.Log()
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(l) // an error means that the caller has gone
}

// Wait reports whether d passed before ctx was done.
func Wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
