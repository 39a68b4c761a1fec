package store_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
)

func TestAnIdleMachineIsNamedUntilItWorksOrIsGone(t *testing.T) {
	s, _ := newStore(t)
	set := func(process, why string, seen time.Time) {
		t.Helper()
		if err := s.SetIdle(t.Context(), process, ingest.IdleMachine{Machine: "b", Why: why, Since: noon, SeenAt: seen}, seen); err != nil {
			t.Fatal(err)
		}
	}
	count := func(now time.Time, except string) int {
		t.Helper()
		idle, err := s.IdleMachines(t.Context(), now, except)
		if err != nil {
			t.Fatal(err)
		}
		return len(idle)
	}
	set("b/1", "its clock is wrong", noon)
	set("b/2", "its key is refused", noon.Add(time.Minute))
	for _, tt := range []struct {
		when   string
		now    time.Time
		except string
		want   int
	}{
		{"at once", noon.Add(time.Minute), "", 2},
		{"to itself", noon.Add(time.Minute), "b/1", 1},
		{"when the first has said nothing for long", noon.Add(3*time.Minute + time.Second), "", 1},
		{"when both have", noon.Add(time.Hour), "", 0},
	} {
		if got := count(tt.now, tt.except); got != tt.want {
			t.Errorf("%s: %d machines, want %d", tt.when, got, tt.want)
		}
	}
	set("b/2", "", noon.Add(time.Minute))
	if got := count(noon.Add(time.Minute), ""); got != 1 {
		t.Errorf("after one works again: %d machines, want 1", got)
	}
}
