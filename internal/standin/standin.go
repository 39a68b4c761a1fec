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

// WriteLedger answers with a stand-in's ledger, which no cache may keep.
func WriteLedger(w http.ResponseWriter, ledger any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(ledger) // an error means that the caller has gone
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
