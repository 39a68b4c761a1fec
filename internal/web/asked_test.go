package web_test

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/quota"
)

// A status page asks for each part once: its figures are of one moment. All probes and metrics within the same second
// ask nothing more.
func TestAStatusPageAsksForEachPartOnce(t *testing.T) {
	site, source := paged()
	var mu sync.Mutex
	asked := map[string]int{}
	count := func(what string) { mu.Lock(); defer mu.Unlock(); asked[what]++ }
	amend(site, func(context.Context, *standing.Facts) { count("facts") })
	quotaOf, slots, kept, backfills, spent, ledger := source.Quota, source.Slots, source.Kept, source.Backfills, source.Spent, source.Ledger
	source.Quota = func(ctx context.Context, store func() standing.Facts) (report.QuotaDocument, standing.Facts, error) {
		count("report")
		store() // as serve's source does
		return quotaOf(ctx, store)
	}
	source.Slots = func(ctx context.Context, since time.Time) ([]report.SlotDocument, error) {
		count("slots")
		return slots(ctx, since)
	}
	source.Kept = func(ctx context.Context) (ingest.Kept, error) { count("kept"); return kept(ctx) }
	source.Backfills = func(ctx context.Context) ([]report.BackfillDocument, error) {
		count("backfills")
		return backfills(ctx)
	}
	source.Spent = func(ctx context.Context, since time.Time, every time.Duration) ([]quota.Spent, error) {
		count("spent")
		return spent(ctx, since, every)
	}
	source.Ledger = func(ctx context.Context) (report.LedgerDocument, error) { count("ledger"); return ledger(ctx) }
	if resp, _ := get(t, site, "/status"); resp.StatusCode != 200 {
		t.Fatal(resp.StatusCode)
	}
	want := map[string]int{"facts": 1, "report": 1, "slots": 1, "kept": 1, "backfills": 1, "spent": 1, "ledger": 1}
	if !maps.Equal(asked, want) {
		t.Errorf("one page asks for %v, want %v", asked, want)
	}
	for _, path := range []string{"/status", "/metrics", "/freshness"} {
		get(t, site, path)
	}
	if asked["report"] != 1 {
		t.Errorf("the ledger is asked %d times within a second, want 1", asked["report"])
	}
}
