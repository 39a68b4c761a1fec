package main_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// A run fetches four regions at once: 32 calls of 100 ms take 0.8 s of waiting, where one after the other they take 3.2 s.
// Its results are in the order in which the slots were claimed, the least fresh region first.
func TestARunFetchesFourRegionsAtOnce(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5, Latency: 100 * time.Millisecond})
	at(t, "2026-02-14T09:40:00Z")
	began := time.Now()
	doc := ingestJSON[runDocument](t, exitOK, "run")
	took := time.Since(began)
	if len(doc.Regions) != 8 {
		t.Fatalf("%d regions", len(doc.Regions))
	}
	for i := 1; i < len(doc.Regions); i++ {
		if doc.Regions[i].DueAt.Before(doc.Regions[i-1].DueAt) {
			t.Errorf("%s comes after %s", doc.Regions[i].Region, doc.Regions[i-1].Region)
		}
	}
	t.Logf("32 calls of 100 ms took %v", took.Round(10*time.Millisecond))
	if took > 2500*time.Millisecond { // 1.1 s where nothing else runs
		t.Errorf("32 calls of 100 ms took %v: they were made one after the other", took)
	}
}
