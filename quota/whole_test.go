package quota_test

import (
	"testing"

	"github.com/trendvidstream/ingest/quota"
)

// A call may ask for room for more calls of its kind. Without that room it is refused; with it, only this call is
// charged.
func TestCallsAreAdmittedTogetherOrNotAtAll(t *testing.T) {
	d := newTestGovernor(t, "2026-02-14 09:00:00")
	take := func(calls int) quota.Decision {
		t.Helper()
		got, err := d.Take(t.Context(), quota.Request{Method: "videos.list", Region: "US", Purpose: quota.Scheduled, Calls: calls})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	d.spend("units", 9_496)
	if got := take(4); !got.Allowed || got.Pools[0].Charged != 1 || got.Pools[0].Remaining != 3 {
		t.Errorf("four with four left: %+v", got.Pools)
	}
	got := take(4)
	if got.Allowed || got.Refusal.Used != 9_497 || got.Refusal.Ceiling != 9_500 || got.Refusal.AtOnce != 4 || got.Pools[0].Remaining != 3 {
		t.Errorf("four with three left: %+v, %+v", got.Refusal, got.Pools)
	}
	const want = "9,497 of the 9,500 units that the schedule may use in 24h are used (limit 10,000), and 4 are needed at once"
	if got.Refusal != nil && got.Refusal.String() != want {
		t.Errorf("%q, want %q", got.Refusal, want)
	}
	if got := take(3); !got.Allowed {
		t.Errorf("three with three left: %+v", got.Refusal)
	}
	// Together the calls can never fit: the first is admitted alone.
	if got := take(20_000); !got.Allowed {
		t.Errorf("more than the ceiling, with two left: %+v", got.Refusal)
	}
}
