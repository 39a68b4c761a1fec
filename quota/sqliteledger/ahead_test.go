package sqliteledger_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/quota"
)

// Entries that a clock a year ahead left in the future count from now on, and delay no take.
func TestEntriesInTheFutureAreMovedToNow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	ahead := now.AddDate(1, 0, 0)
	l := clocked(t, path, &now)
	take(t, l, askAt(now, "default", 3, 100))
	right := now
	now = ahead
	take(t, l, askAt(now, "default", 5, 100))
	now = now.Add(time.Minute)
	take(t, l, askAt(now, "default", 7, 100))
	if err := errors.Join(l.Post(t.Context(), askAt(now, "default", 11, 100), ahead.Add(time.Second)),
		l.Drain(t.Context(), "default", "units", quota.Drain{Until: now.Add(time.Hour), Used: 9})); err != nil {
		t.Fatal(err)
	}
	now = right.Add(time.Second)
	if _, err := l.Take(t.Context(), askAt(now, "default", 1, 100)); !errors.Is(err, quota.ErrUnavailable) {
		t.Fatalf("a year before the newest entry: %v, want error %v", err, quota.ErrUnavailable)
	}
	if moved, err := l.MoveBack(t.Context()); err != nil || moved != 4 {
		t.Fatalf("%d moved, %v: want three entries and a drain", moved, err)
	}
	if got := take(t, l, askAt(now, "default", 1, 100)); !got.Allowed || got.Pools[0].Windows[0].Used != 27 {
		t.Errorf("%+v, want it admitted, with 27 used", got)
	}
	if moved, err := l.MoveBack(t.Context()); err != nil || moved != 0 {
		t.Errorf("again: %d moved, %v, want 0", moved, err)
	}
	_ = l.Close()
	now = now.Add(24*time.Hour + time.Minute)
	l = clocked(t, path, &now)
	if got := take(t, l, askAt(now, "default", 100, 100)); !got.Allowed {
		t.Errorf("a day later: %v", got.Refusal)
	}
}

// A snapshot that is put in the file's place, as a backup is, works like the file.
func TestASnapshotPutInPlaceIsTheFile(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	path, copied := filepath.Join(dir, "quota.db"), filepath.Join(dir, "copy.db")
	l := clocked(t, path, &now)
	take(t, l, askAt(now, "default", 3, 100))
	if err := sqlitefile.Snapshot(t.Context(), path, copied); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := os.Rename(copied, path); err != nil {
		t.Fatal(err)
	}
	l = clocked(t, path, &now)
	for i := range int64(3) {
		if got := take(t, l, askAt(now, "default", 1, 100)); got.Pools[0].Windows[0].Used != 4+i {
			t.Errorf("%+v, want %d used", got, 4+i)
		}
	}
}
