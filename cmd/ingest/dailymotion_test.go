package main_test

import (
	program "github.com/trendvidstream/ingest/cmd/ingest"

	"context"
	"io"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/dailymotionsim"
)

// A day of the second upstream with a tenth of its calls failing: its own count judges the ledger, like the first
// one's.
func TestLongTheSecondUpstreamsCountIsTheLedgers(t *testing.T) {
	start := at(t, "2026-02-14T00:10:00Z")
	now := start
	o := dailymotionsim.Options{Seed: 3, Now: func() time.Time { return now }}
	for _, text := range []string{"500:4%", "drop:3%", "truncate:3%"} {
		fault, err := dailymotionsim.ParseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Faults = append(o.Faults, fault)
	}
	sim, err := dailymotionsim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	t.Setenv("INGEST_UPSTREAM", "dailymotion")
	t.Setenv("INGEST_UPSTREAM_URL", server.URL+"/")
	t.Setenv("INGEST_DATA", filepath.Join(t.TempDir(), "data"))
	neverWait := func(r *fetch.Reconciler) {
		r.Pause = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	}
	for now.Before(start.Add(23 * time.Hour)) {
		t.Setenv("INGEST_NOW", now.Format(time.RFC3339))
		if code := program.Run([]string{"run", "--quiet"}, io.Discard, io.Discard, neverWait); code != exitOK && code != exitPartial {
			t.Fatalf("at %v: exit %d", now, code)
		}
		now = now.Add(2 * time.Hour)
	}
	t.Setenv("INGEST_NOW", now.Add(-2*time.Hour).Format(time.RFC3339))
	used := ingestJSON[quotaDocument](t, exitOK, "quota").Pools[0].Windows[0].Used
	if counted := sim.Ledger().Units["calls"]; used != counted || counted < 200 {
		t.Errorf("%d calls in the ledger, %d at the upstream", used, counted)
	}
	t.Logf("calls by the ledger %d, by the stand-in %d", used, sim.Ledger().Units["calls"])
}
