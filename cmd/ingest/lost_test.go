package main

import (
	"maps"
	"os"
	"testing"

	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/quota"
)

// A refresh asks about regions: what it spends must not be looked for under their charts.
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

func TestASlotOfSearchesIsPostedSoThatNoPoolCountsLess(t *testing.T) {
	costs, err := os.ReadFile("../../costs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		table string
		units int64
		want  quota.Cost
	}{
		{"classic", 303, quota.Cost{"units": 303, "search": 3}}, // three pages and three lookups
		{"classic", 7, quota.Cost{"units": 7, "search": 0}},
		{"split-2026-06", 6, quota.Cost{"units": 6, "search": 6}}, // it may have been any share of both
	} {
		tariff, err := quota.ParseCosts("costs.yaml", costs, "youtube", tt.table)
		if err != nil {
			t.Fatal(err)
		}
		got, err := costOf(tt.units, []string{"search.list", "videos.list"}, tariff)
		if err != nil || !maps.Equal(got, tt.want) {
			t.Errorf("%s, %d units: %v, %v, want %v", tt.table, tt.units, got, err, tt.want)
		}
	}
}
