package sqliteledger_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// filled is a ledger whose only pool has the given number of entries of one unit, a millisecond apart, the last of
// them at now.
func filled(t testing.TB, entries int, now *time.Time) (*sqliteledger.Ledger, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "quota.db")
	l := open(t, path)
	first := now.Add(-time.Duration(entries) * time.Millisecond)
	l.Now = func() time.Time { return first }
	take(t, l, askAt(first, "default", 1, quota.MaxLimit))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	db := database(t, path)
	_, err := db.ExecContext(t.Context(), `
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
		INSERT INTO entries SELECT e.pool, e.at + 1000 * n.i, e.number + n.i, n.i, 1, e.spender FROM entries e, n`, entries)
	if err != nil {
		t.Fatal(err)
	}
	l = open(t, path)
	l.Now = func() time.Time { return *now }
	return l, db
}

// A refusal takes a few steps, even if many entries must leave the window before the amount fits. The machine may be
// busy, so the best of many times counts.
func TestRefusalsCostAlikeHoweverLongTheLog(t *testing.T) {
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	best := func(l *sqliteledger.Ledger, used, amount int64) time.Duration {
		least := time.Hour
		for range 100 {
			began := time.Now()
			d, err := l.Take(t.Context(), askAt(now, "default", amount, used))
			if took := time.Since(began); took < least {
				least = took
			}
			if err != nil || d.Allowed {
				t.Fatalf("%+v %v, want it refused", d, err)
			}
			// The entry that completes amount units leaves a day later.
			if want := now.Add(24*time.Hour + time.Duration(amount-used)*time.Millisecond); d.RetryAt.Before(want) || d.RetryAt.After(want.Add(2*time.Millisecond)) {
				t.Fatalf("%d of %d: retry at %s, want %s", amount, used, d.RetryAt, want)
			}
		}
		return least
	}
	const few, many = 1_000, 175_000
	short, _ := filled(t, few, &now)
	long, _ := filled(t, many, &now)
	small := best(short, few+1, few/2)
	for _, amount := range []int64{1, 10_000, many / 2, many} {
		if large := best(long, many+1, amount); large > 5*small {
			t.Errorf("a refusal of %d takes %v with %d entries, %v with %d", amount, large, many, small, few)
		}
	}
}

// One take deletes only a few of many old entries; many takes delete them all.
func TestForgettingIsDoneInSmallSteps(t *testing.T) {
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	count := func(db *sql.DB) (n int) {
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM entries").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const most = 1000
	l, db := filled(t, 3000, &now)
	if err := l.Fsync(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	now = now.Add(3 * quota.MinHorizon)
	before := count(db)
	for taken := 1; before > 2*taken; taken++ {
		take(t, l, askAt(now, "default", 1, quota.MaxLimit))
		now = now.Add(time.Millisecond)
		after := count(db)
		if before-after > most || taken > 3000 {
			t.Fatalf("take %d: %d entries, of %d before, want at most %v and at most 3000", taken, after, before, most)
		}
		before = after
	}

	l, db = filled(t, 3000, &now)
	now = now.Add(3 * quota.MinHorizon)
	before = count(db)
	for i := 0; before > 100; i++ { // each new account takes care of an idle one
		take(t, l, askAt(now, "other"+string(rune('a'+i)), 1, quota.MaxLimit))
		after := count(db)
		if before-after > most || i == 20 {
			t.Fatalf("account %d: %d entries, of %d before", i, after, before)
		}
		before = after
	}
}
