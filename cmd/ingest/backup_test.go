package main_test

import (
	"path/filepath"
	"testing"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// Ticks that no run has come to are one row of the store each time, and slots all the same.
func TestABackupCountsTheSlotsThatSlotsCounts(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5})
	at(t, "2026-02-14T09:40:00Z")
	ingestJSON[runDocument](t, exitOK, "run")
	at(t, "2026-02-14T14:40:00Z")
	ingestJSON[runDocument](t, exitOK, "run")
	listed := int64(0)
	for _, slot := range ingestJSON[report.SlotsDocument](t, exitOK, "slots", "--limit", "1000").Slots {
		listed += int64(max(slot.Count, 1))
	}
	if made := ingestJSON[report.BackupDocument](t, exitOK, "backup", filepath.Join(t.TempDir(), "copy.db")); made.Slots != listed || listed < 50 {
		t.Errorf("the backup counts %d slots, slots %d", made.Slots, listed)
	}
}
