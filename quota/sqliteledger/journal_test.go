package sqliteledger_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

func TestHostIDIsShortAndPlain(t *testing.T) {
	s, err := open(t, filepath.Join(t.TempDir(), "quota.db")).State(t.Context(), "default")
	if err != nil || !regexp.MustCompile(`^[a-z0-9]{16,32}$`).MatchString(s.HostID) {
		t.Errorf("%q %v, want 16 to 32 letters and digits", s.HostID, err)
	}
}

// A verdict that comes late must not be taken for another operation's verdict.
func TestNoIDIsUsedTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	for want := range int64(4) {
		l := open(t, path)
		id, _, err := l.Begin(t.Context(), row(noon), sharedledger.Notes{Now: noon.Add(100 * time.Hour), Forget: time.Hour})
		if err != nil || id != want+1 {
			t.Fatalf("id %d %v, want %d", id, err, want+1)
		}
		if rows, err := l.Rows(t.Context(), "default", time.Time{}, false); err != nil || len(rows) > 2 {
			t.Errorf("%d rows %v: want the old ones forgotten", len(rows), err)
		}
	}
}

func TestRowsThatNoLedgerWouldTakeAreRefused(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "quota.db"))
	for _, c := range []struct {
		change func(*sharedledger.Row)
		want   error
	}{
		{func(r *sharedledger.Row) { r.Account = "a b" }, quota.ErrUnknown},
		{func(r *sharedledger.Row) { r.Amounts = quota.Cost{"units": -1} }, quota.ErrNeverFits},
		{func(r *sharedledger.Row) { r.Amounts = quota.Cost{"units": quota.MaxLimit + 1} }, quota.ErrNeverFits},
	} {
		r := row(noon)
		c.change(&r)
		if _, _, err := l.Begin(t.Context(), r, sharedledger.Notes{}); !errors.Is(err, c.want) {
			t.Errorf("begin %+v: %v, want %v", r, err, c.want)
		}
		if id, err := l.Allow(t.Context(), r, nil); id != 0 || !errors.Is(err, c.want) {
			t.Errorf("allow %+v: id %d, %v, want %v", r, id, err, c.want)
		}
	}
	if err := l.Note(t.Context(), "", sharedledger.Notes{Generation: 1}); !errors.Is(err, quota.ErrUnknown) {
		t.Errorf("note: %v, want %v", err, quota.ErrUnknown)
	}
}

// Verdicts are taken in their order, however many of them are one statement.
func TestVerdictsAreTakenInTheirOrder(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "quota.db"))
	var ids []int64
	for range 4 {
		ids = append(ids, begin(t, l, row(noon)))
	}
	err := l.Note(t.Context(), "default", sharedledger.Notes{Verdicts: []sharedledger.RowVerdict{
		{ID: ids[0], State: sharedledger.RowSynced}, {ID: ids[1], State: sharedledger.RowSynced},
		{ID: ids[2], State: sharedledger.RowCharged}, {ID: ids[1], State: sharedledger.RowOwed}, {ID: ids[2], State: sharedledger.RowSynced, At: noon.Add(time.Second)},
		{ID: ids[0], State: sharedledger.RowCharged}, // no news
	}})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := l.Rows(t.Context(), "default", time.Time{}, false)
	var got []sharedledger.RowState
	for _, r := range rows {
		got = append(got, r.State)
	}
	if want := []sharedledger.RowState{sharedledger.RowSynced, sharedledger.RowOwed, sharedledger.RowSynced, sharedledger.RowAsked}; err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("%v %v, want %v", got, err, want)
	}
}

// A ledger's clock stands still while the clock of its host is behind: of two snapshots of one time the one that
// saw more is the later.
func TestOfTwoSnapshotsAtOnceTheFullerIsKept(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "quota.db"))
	for _, used := range []int64{5, 7, 6} {
		if err := l.Note(t.Context(), "default", sharedledger.Notes{Snapshots: []sharedledger.UsageSnapshot{snapshot("units", noon, used)}}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := l.State(t.Context(), "default")
	if err != nil || len(s.Snapshots) != 1 || s.Snapshots[0].Windows[0].Used != 7 {
		t.Fatalf("%+v %v, want one that saw 7", s.Snapshots, err)
	}
	s.Snapshots[0].Windows[0].Used = 99 // the caller's own
	if s, err = l.State(t.Context(), "default"); err != nil || s.Snapshots[0].Windows[0].Used != 7 {
		t.Errorf("%+v %v, want one that saw 7", s.Snapshots, err)
	}
}

// Each budget looks back as far as it says.
func TestBudgetsOfSeveralTimes(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "quota.db"))
	day, hour := noon.Add(-24*time.Hour), noon.Add(-time.Hour)
	for i, c := range []struct {
		at       time.Time
		inDay    int64
		inAnHour int64
		want     bool
	}{
		{noon.Add(-2 * time.Hour), 1, 1, true}, // two hours ago
		{noon, 1, 1, false},
		{noon, 2, 1, true},
		{noon, 3, 1, false},
		{noon, 3, 2, true},
	} {
		id, err := l.Allow(t.Context(), row(c.at), []quota.EmergencyBudget{{Pool: "units", Amount: c.inDay, Since: day}, {Pool: "units", Amount: c.inAnHour, Since: hour}})
		if err != nil || (id != 0) != c.want {
			t.Errorf("%d: id %d, %v, want %t", i, id, err, c.want)
		}
	}
}

// Who no longer waits has written nothing, and the error is one of package quota.
func TestCancelledJournalCallChangesNothing(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "quota.db"))
	ctx, cancel := cancelled(t)
	defer cancel()
	_, _, beginErr := l.Begin(ctx, row(noon), sharedledger.Notes{Generation: 1})
	_, allowErr := l.Allow(ctx, row(noon), nil)
	_, stateErr := l.State(ctx, "default")
	for _, err := range []error{beginErr, allowErr, stateErr, l.Note(ctx, "default", sharedledger.Notes{Generation: 1})} {
		if !errors.Is(err, quota.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want %v and %v", err, quota.ErrUnavailable, context.Canceled)
		}
	}
	if s, err := l.State(t.Context(), "default"); err != nil || s.Generation != 0 || s.Owed {
		t.Errorf("%+v %v, want generation 0, nothing owed", s, err)
	}
}

// Operations leave the file once they are older than necessary, with any outcome, so that a year takes no more room
// than a week.
func TestJournalStaysBounded(t *testing.T) { journalStaysBounded(t, 20) }

func TestLongJournalStaysBounded(t *testing.T) { journalStaysBounded(t, 365) }

func journalStaysBounded(t *testing.T, days int) {
	t.Helper()
	const horizon, perDay = 26 * time.Hour, 100
	dir := t.TempDir()
	l := open(t, filepath.Join(dir, "quota.db"))
	if err := l.Fsync(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	now, settled := noon, int64(0)
	n := sharedledger.Notes{}
	for day := range days {
		for i := range perDay {
			now = now.Add(24 * time.Hour / perDay)
			n.Now, n.Forget = now, horizon
			r := row(now)
			r.Number = int64(day*perDay + i)
			if i%20 == 0 {
				if id, err := l.Allow(t.Context(), r, []quota.EmergencyBudget{{Pool: "units", Amount: 50, Since: now.Add(-24 * time.Hour)}}); err != nil || id == 0 {
					t.Fatal(id, err)
				}
			}
			id, _, err := l.Begin(t.Context(), r, n)
			if err != nil {
				t.Fatal(err)
			}
			n = sharedledger.Notes{
				Verdicts:  []sharedledger.RowVerdict{{ID: id, State: []sharedledger.RowState{sharedledger.RowAsked, sharedledger.RowCharged, sharedledger.RowVoid}[i%3], At: now.Add(time.Millisecond)}},
				Snapshots: []sharedledger.UsageSnapshot{snapshot("units", now, int64(i))},
			}
		}
		for _, r := range owed(t, l) {
			n.Verdicts = append(n.Verdicts, sharedledger.RowVerdict{ID: r.ID, State: sharedledger.RowSynced})
		}
		if day == 9 {
			settled = sizeOf(t, dir)
		}
	}
	rows, err := l.Rows(t.Context(), "default", time.Time{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if most := (perDay+perDay/20)*int(horizon/time.Hour)/24 + 64; len(rows) > most {
		t.Errorf("%d rows are listed for %d operations a day, want at most %d", len(rows), perDay, most)
	}
	if grown := sizeOf(t, dir); grown > settled+settled/10 {
		t.Errorf("%d bytes after 10 days, %d after %d", settled, grown, days)
	}
	t.Logf("%d operations a day: %d bytes after 10 days and %d after %d, %d rows", perDay, settled, sizeOf(t, dir), days, len(rows))
}

// sizeOf is how many bytes the files in a directory have.
func sizeOf(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes
}

var _ quota.EmergencyAccount = (*sqliteledger.Ledger)(nil)
