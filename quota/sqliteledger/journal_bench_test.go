package sqliteledger_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// BenchmarkBegin measures this side's cost of a take through a remote ledger: it records the operation, and the
// outcome of the one before. Beside it a bare row of the same durability.
func BenchmarkBegin(b *testing.B) {
	for _, durable := range []bool{true, false} {
		name := "fsync"
		if !durable {
			name = "no fsync"
		}
		b.Run(name, func(b *testing.B) {
			b.Run("begin", func(b *testing.B) { begins(b, durable) })
			b.Run("allow", func(b *testing.B) { allows(b, durable) })
			b.Run("bare row", func(b *testing.B) { bare(b, durable) })
		})
	}
}

func begins(b *testing.B, durable bool) {
	j := journalOf(b, 10_000)
	if err := j.Fsync(b.Context(), durable); err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	r, n := row(now), sharedledger.Notes{}
	for b.Loop() {
		now = now.Add(time.Second)
		r.Number, r.At, n.Now, n.Forget = r.Number+1, now, now, 26*time.Hour
		id, _, err := j.Begin(b.Context(), r, n)
		if err != nil || id == 0 {
			b.Fatal(id, err)
		}
		n = sharedledger.Notes{
			Verdicts:  []sharedledger.RowVerdict{{ID: id, State: sharedledger.RowCharged, At: now.Add(time.Millisecond)}},
			Snapshots: []sharedledger.UsageSnapshot{snapshot("units", now, r.Number)},
		}
	}
}

func allows(b *testing.B, durable bool) {
	j := journalOf(b, 10_000)
	if err := j.Fsync(b.Context(), durable); err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	r := row(now)
	for b.Loop() {
		now = now.Add(30 * time.Minute) // about fifty within the budget's time
		r.Number, r.At = r.Number+1, now
		id, err := j.Allow(b.Context(), r, []quota.EmergencyBudget{
			{Pool: "units", Amount: 50, Since: now.Add(-24 * time.Hour)},
			{Pool: "units", Amount: 5000, Since: now.Add(-time.Hour)},
			{Pool: "units", Amount: 5000, Since: now.Add(-time.Hour)},
		})
		if err != nil || id == 0 {
			b.Fatal(id, err)
		}
	}
}

// BenchmarkRows reads ten thousand operations, as a new generation needs them.
func BenchmarkRows(b *testing.B) {
	j := journalOf(b, 10_000)
	for b.Loop() {
		if rows, err := j.Rows(b.Context(), "default", time.Time{}, false); err != nil || len(rows) != 10_000 {
			b.Fatal(len(rows), err)
		}
	}
}

// BenchmarkSynced notes that ten thousand operations were synced.
func BenchmarkSynced(b *testing.B) {
	j := journalOf(b, 10_000)
	rows, err := j.Rows(b.Context(), "default", time.Time{}, false)
	if err != nil {
		b.Fatal(err)
	}
	states := [2]sharedledger.RowState{sharedledger.RowSynced, sharedledger.RowOwed}
	for i := 0; b.Loop(); i++ {
		n := sharedledger.Notes{}
		for _, r := range rows {
			n.Verdicts = append(n.Verdicts, sharedledger.RowVerdict{ID: r.ID, State: states[i%2]})
		}
		if err := j.Note(b.Context(), "default", n); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPost is one of many posts in the order of time, as quota rebuild makes them.
func BenchmarkPost(b *testing.B) {
	for _, posted := range []int{0, 10_000} {
		b.Run(map[int]string{0: "empty", 10_000: "10000 used"}[posted], func(b *testing.B) {
			l := open(b, filepath.Join(b.TempDir(), "quota.db"))
			now := time.Now()
			at := now.Add(-20 * time.Hour)
			post := func() {
				at = at.Add(time.Millisecond)
				if err := l.Post(b.Context(), askAt(now, "default", 4, 10_000), at); err != nil {
					b.Fatal(err)
				}
			}
			for range posted {
				post()
			}
			for b.Loop() {
				post()
			}
		})
	}
}

// journalOf is a journal of the given number of operations that were charged.
func journalOf(t testing.TB, n int) *sqliteledger.Ledger {
	t.Helper()
	ctx := context.Background()
	j := open(t, filepath.Join(t.TempDir(), "quota.db"))
	if err := j.Fsync(ctx, false); err != nil {
		t.Fatal(err)
	}
	began := time.Now().Add(-time.Duration(n) * time.Second)
	for i := range n {
		r := row(began.Add(time.Duration(i) * time.Second))
		r.Number = int64(i + 1)
		id, _, err := j.Begin(ctx, r, sharedledger.Notes{})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Note(ctx, "default", sharedledger.Notes{Verdicts: []sharedledger.RowVerdict{{ID: id, State: sharedledger.RowCharged}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Fsync(ctx, true); err != nil {
		t.Fatal(err)
	}
	return j
}

func row(at time.Time) sharedledger.Row {
	return sharedledger.Row{
		Account: "default", Writer: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Number: 1, Nonce: 1<<52 - 1, At: at,
		Who:     quota.Who{Purpose: quota.Scheduled, Region: "US", Method: "videos.list"},
		Amounts: quota.Cost{"units": 1},
	}
}

func snapshot(pool string, at time.Time, used int64) sharedledger.UsageSnapshot {
	return sharedledger.UsageSnapshot{Pool: pool, Generation: 7, At: at, Windows: []sharedledger.WindowUsage{
		{Window: quota.Window{Name: "24h", Length: 24 * time.Hour, Limit: 10_000}, Start: at.Add(-24 * time.Hour), Used: used},
		{Window: quota.Window{Name: "day", Limit: 10_000}, Start: at.Add(-time.Hour), Used: used},
	}}
}
