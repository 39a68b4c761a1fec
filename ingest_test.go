package ingest_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
)

func TestASlotCountsUnitsByItsMostExpensivePoolAndKeepsEveryPool(t *testing.T) {
	search, list := map[string]int64{"units": 100, "search": 1}, map[string]int64{"units": 1, "search": 0}
	var slot ingest.Slot
	slot.Charge(search, false)
	before := slot
	slot.Charge(list, false)
	if want := map[string]int64{"units": 101, "search": 1}; slot.Units != 101 || !maps.Equal(slot.Charges, want) {
		t.Errorf("%d units, %v, want 101 and %v", slot.Units, slot.Charges, want)
	}
	if before.Charges["units"] != 100 {
		t.Errorf("a copy that was made before has changed: %v, want units 100", before.Charges)
	}
	slot.Refund(list, false)
	slot.Refund(search, false)
	if slot.Units != 0 || len(slot.Charges) > 0 {
		t.Errorf("once all is refunded: %d units, %v, want 0 and none", slot.Units, slot.Charges)
	}
}

func TestTicksAreAllThatASlotStandsFor(t *testing.T) {
	noon := time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)
	slot := ingest.Slot{SlotKey: ingest.SlotKey{DueAt: noon}}
	if got := slot.Ticks(); len(got) != 1 || !got[0].Equal(noon) || slot.TicksSince(noon.Add(time.Hour)).Count != 0 {
		t.Errorf("one tick: %v", got)
	}
	const month = 60 * 24 * 29 // minutes
	slot.Count, slot.FirstDueAt = month+1, noon.Add(-month*time.Minute)
	for i, at := range slot.Ticks() {
		if want := noon.Add(time.Duration(i-month) * time.Minute); !at.Equal(want) {
			t.Fatalf("tick %d is %v, want %v", i, at, want)
		}
	}
	if got := slot.TicksSince(noon.Add(-90 * time.Second)); got.Count != 2 || !got.FirstDueAt.Equal(noon.Add(-time.Minute)) || !got.DueAt.Equal(noon) {
		t.Errorf("the last two: %d since %v", got.Count, got.FirstDueAt)
	}
	if got := slot.TicksSince(noon); got.Count != 0 || !got.FirstDueAt.IsZero() {
		t.Errorf("the last: %d since %v", got.Count, got.FirstDueAt)
	}
}

// A slot's calls are counted for a region only where its key is one: who pays and who checks the payment decide alike,
// from the slot's row.
func TestAKeyThatLooksLikeARegionIsNone(t *testing.T) {
	regional := ingest.Job{Name: "a", Kind: ingest.KindSearch, Query: "cats", Regions: []ingest.Region{"US"}}
	listed := ingest.Job{Name: "b", Kind: ingest.KindSearch, Queries: []string{"US", "us", "cats"}, Regions: []ingest.Region{"DE"}}
	watched := ingest.Job{Name: "c", Kind: ingest.KindUploads, Channels: []string{"US"}}
	chart := ingest.Job{Name: "d", Kind: ingest.KindChart, Regions: []ingest.Region{"US"}}
	var got []string
	for _, job := range []ingest.Job{regional, listed, watched, chart} {
		for _, series := range job.Series() {
			slot := ingest.Slot{SlotKey: ingest.SlotKey{Job: series.Job, Key: series.Key}, Kind: job.Kind}
			got = append(got, job.Name+":"+string(slot.ChargedRegion()))
		}
	}
	if want := "a:US b: b: b: c: c: d:US"; strings.Join(got, " ") != want {
		t.Errorf("the regions are %v, want %s", got, want)
	}
	if q := listed.Search(listed.Series()[0].Key); q.Text != `"US"` || q.Region != "DE" {
		t.Errorf("the first query asks for %+v, want \"\\\"US\\\"\" and \"DE\"", q)
	}
}
