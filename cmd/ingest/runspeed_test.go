package main_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// A run fetches four regions at once: 32 calls of 100 ms take 0.8 s of waiting, where one after the other they take 3.2 s.
// Its results are in the order of the claims, the least fresh region first.
func TestARunFetchesFourRegionsAtOnce(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 5, Latency: 100 * time.Millisecond})
	var mu sync.Mutex
	var calls, now, most int
	count := func(more int) {
		mu.Lock()
		defer mu.Unlock()
		now += more
		calls, most = calls+max(more, 0), max(most, now)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count(1)
		defer count(-1)
		sim.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Setenv("INGEST_UPSTREAM_URL", server.URL+"/")
	at(t, "2026-02-14T09:40:00Z")
	began := time.Now()
	doc := ingestJSON[runDocument](t, exitOK, "run")
	t.Logf("%d calls of 100 ms took %v", calls, time.Since(began).Round(10*time.Millisecond))
	if len(doc.Regions) != 8 {
		t.Fatalf("%d regions, want 8", len(doc.Regions))
	}
	for i := 1; i < len(doc.Regions); i++ {
		if doc.Regions[i].DueAt.Before(doc.Regions[i-1].DueAt) {
			t.Errorf("%s comes after %s", doc.Regions[i].Region, doc.Regions[i-1].Region)
		}
	}
	if most != 4 {
		t.Errorf("at most %d calls were under way at once", most)
	}
}
