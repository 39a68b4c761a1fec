package youtubesim

import (
	"slices"
	"time"

	"github.com/trendvidstream/ingest/internal/standin"
)

// Ledger is the stand-in's own count of arrivals since the start; its days are Pacific.
type Ledger = standin.Ledger

// CallCount is how often a method was answered with a status.
type CallCount = standin.CallCount

// Call is one call that arrived.
type Call = standin.Call

// MaxInWindow returns the most that any trailing window of length d held of a pool. A call at t counts while now < t +
// d.
func (s *Server) MaxInWindow(pool string, d time.Duration) int64 {
	log := s.Log()
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

// MaxInDay returns the most charged to a pool on any Pacific day.
func (s *Server) MaxInDay(pool string) int64 {
	sums := map[string]int64{}
	var most int64
	for _, call := range s.Log() {
		d := s.count.Day(call.At)
		sums[d] += call.Charges[pool]
		most = max(most, sums[d])
	}
	return most
}
