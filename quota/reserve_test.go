package quota_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// The schedule's remaining need stays free under its ceiling of 9,500, with a backfill's own 7,000.
func TestABackfillLeavesTheSchedulesRemainingNeed(t *testing.T) {
	d := newTestGovernor(t, "2026-02-14 09:00:00")
	ask := func(method string, need int64) quota.Decision {
		t.Helper()
		got, err := d.Take(t.Context(), quota.Request{Method: method, Purpose: quota.Backfill, Reserve: quota.Reserve{Today: quota.Cost{"units": need}}})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	d.spend("units", 5_000)
	if got := ask("videos.list", 4_000); !got.Allowed || got.Pools[0].Remaining != 499 {
		t.Errorf("with 5,000 used and 4,000 needed: allowed %v, %d remain, want 499", got.Allowed, got.Pools[0].Remaining)
	}
	if got := ask("search.list", 4_450); got.Allowed || got.Refusal.Ceiling != 5_050 {
		t.Errorf("with 4,450 needed: %+v", got.Refusal)
	}
	if got := ask("videos.list", 0); !got.Allowed || got.Pools[0].Remaining != 1_998 {
		t.Errorf("with nothing needed: allowed %v, %d remain, want 1,998: the ceiling of 7,000 stays", got.Allowed, got.Pools[0].Remaining)
	}
	// More than everything: a refusal until the day turns, not a cost that never fits.
	got := ask("videos.list", 20_000)
	if got.Allowed || got.RetryAfter != 15*time.Hour+30*time.Second || got.Refusal.Used != 5_002 || got.Refusal.Ceiling != 0 {
		t.Errorf("with more needed than there is: %+v, %+v, retry after %v", got.Allowed, got.Refusal, got.RetryAfter)
	}
	if used := d.pool("units").Windows[0].Used; used != 5_002 {
		t.Errorf("%d used, want 5,002: a refusal spends nothing", used)
	}
}
