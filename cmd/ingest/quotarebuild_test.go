package main_test

import (
	"testing"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// A refresh asks about regions: its spends must not be looked for under their charts.
func TestWhatARefreshSpendsClosesNoGate(t *testing.T) {
	standIn(t, youtubesim.Options{})
	for _, now := range []string{"2026-02-14T09:40:00Z", "2026-02-15T09:40:00Z", "2026-02-15T10:40:00Z"} {
		at(t, now)
		ingestCode(t, exitOK, "run")
	}
	doc := ingestJSON[struct {
		Spent []struct {
			Method string
			Amount int64
		}
	}](t, exitOK, "quota")
	named := int64(0)
	for _, s := range doc.Spent {
		if s.Method == "videoCategories.list" {
			named += s.Amount
		}
	}
	if named != 8 {
		t.Errorf("%d units for the names of categories, want 8", named)
	}
}
