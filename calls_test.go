package ingest_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
)

// Suspect answers are counted while each comes less than a day after the one before.
func TestSuspectAnswersOfADayAreCounted(t *testing.T) {
	began := time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)
	s := ingest.CallStats{}
	for i, hour := range []int{0, 20, 43, 70} {
		at := began.Add(time.Duration(hour) * time.Hour)
		s.Add("list", "suspect", time.Second, at)
		s.Add("list", "ok", time.Second, at.Add(time.Minute))
		if c := s.Contact(); c.Suspects != []int64{1, 2, 3, 1}[i] || !c.SuspectAt.Equal(at) {
			t.Errorf("after %d h: %d, the newest %v", hour, c.Suspects, c.SuspectAt)
		}
	}
}

// An upstream is silent from the first call without an answer until the next answer, in any process, and in any order
// of the counts' arrival.
func TestContactIsAsTheNewestCallsSay(t *testing.T) {
	began := time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }
	calls := func(method string, of ...any) ingest.CallStats {
		s := ingest.CallStats{}
		for i := 0; i < len(of); i += 2 {
			s.Add(method, of[i].(string), time.Second, at(of[i+1].(int)))
		}
		return s
	}
	tests := []struct {
		name       string
		mine, its  ingest.CallStats
		answered   int
		silent     int // minute; -1: it answers
		unanswered int64
	}{
		{"all answered", calls("list", "ok", 1, "spent", 2), calls("list", "rejected", 3), 3, -1, 0},
		{"silent since", calls("list", "ok", 1, "unsent", 2, "broken", 3), calls("list"), 1, 2, 2},
		{"another process is not answered either", calls("list", "ok", 1, "unsent", 4), calls("search", "unsent", 3, "unsent", 5), 1, 3, 3},
		{"another process was answered since", calls("list", "ok", 1, "unsent", 2), calls("list", "ok", 3), 3, -1, 0},
		{"another process was answered before", calls("list", "unsent", 4), calls("list", "ok", 3), 3, 4, 1},
		{"a call that we cancelled says nothing", calls("list", "ok", 1, "cancelled", 2), calls("list"), 1, -1, 0},
	}
	for _, tt := range tests {
		for _, both := range [][2]ingest.CallStats{{tt.mine, tt.its}, {tt.its, tt.mine}} {
			sum := ingest.CallStats{}
			sum.Merge(both[0])
			sum.Merge(both[1])
			c := sum.Contact()
			if !c.AnsweredAt.Equal(at(tt.answered)) || c.SilentSince.IsZero() != (tt.silent < 0) ||
				tt.silent >= 0 && !c.SilentSince.Equal(at(tt.silent)) || c.Unanswered != tt.unanswered {
				t.Errorf("%s: %+v, want %+v", tt.name, c, tt)
			}
		}
	}
}
