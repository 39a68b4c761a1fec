package sqliteledger_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// BenchmarkTake measures a take of one unit from two windows and, beside it, the least steps that a take consists of:
// one row written in an immediate transaction of the same durability.
func BenchmarkTake(b *testing.B) {
	for _, durable := range []bool{true, false} {
		name := "fsync"
		if !durable {
			name = "no fsync"
		}
		b.Run(name, func(b *testing.B) {
			b.Run("empty", func(b *testing.B) { benchmark(b, durable, 0, quota.MaxLimit, 1) })
			b.Run("10000 used", func(b *testing.B) { benchmark(b, durable, 10_000, quota.MaxLimit, 1) })
			b.Run("refused at 10000", func(b *testing.B) { benchmark(b, durable, 10_000, 10_000, 100) })
			b.Run("look at 10000", func(b *testing.B) { benchmark(b, durable, 10_000, quota.MaxLimit, 0) })
			b.Run("bare row", func(b *testing.B) { bare(b, durable) })
		})
	}
}

// benchmark takes amount under a limit, on a log of used entries of one unit each.
func benchmark(b *testing.B, durable bool, used int, limit, amount int64) {
	l := open(b, filepath.Join(b.TempDir(), "quota.db"))
	if err := l.Fsync(b.Context(), false); err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	l.Now = func() time.Time { now = now.Add(time.Microsecond); return now }
	for range used {
		take(b, l, askAt(now, "default", 1, limit))
	}
	if err := l.Fsync(b.Context(), durable); err != nil {
		b.Fatal(err)
	}
	a := askAt(now, "default", amount, limit)
	for b.Loop() {
		if _, err := l.Take(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen measures a command's work before its first take, with 10,000 entries of history: it opens the file,
// compares the ledger with the program's recorded spends, and peeks.
func BenchmarkOpen(b *testing.B) {
	const entries = 10_000
	path := filepath.Join(b.TempDir(), "quota.db")
	l := open(b, path)
	if err := l.Fsync(b.Context(), false); err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	l.Now = func() time.Time { now = now.Add(time.Microsecond); return now }
	a := askAt(now, "default", 1, quota.MaxLimit)
	for range entries {
		take(b, l, a)
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	known := []quota.Spent{{Pool: a.Charges[0].Pool, Who: a.Who, Amount: entries}}
	a.Peek = true
	for b.Loop() {
		l, err := sqliteledger.Open(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		g := quota.Governor{Ledger: l, Tariff: &quota.Tariff{}, Account: a.Account, Now: l.Now,
			Known: func(context.Context, time.Time) ([]quota.Spent, error) { return known, nil }}
		if missing, err := g.Missing(b.Context()); err != nil || len(missing) > 0 {
			b.Fatal(missing, err)
		}
		if d, err := l.Take(b.Context(), a); err != nil || d.Pools[0].Windows[0].Used != entries {
			b.Fatal(d, err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSpent adds up a day of a schedule, by who spent it.
func BenchmarkSpent(b *testing.B) {
	l := open(b, filepath.Join(b.TempDir(), "quota.db"))
	if err := l.Fsync(b.Context(), false); err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	l.Now = func() time.Time { now = now.Add(time.Microsecond); return now }
	since := now
	for i := range 1536 {
		a := askAt(now, "default", 1, quota.MaxLimit)
		a.Who.Region = string(rune('A' + i/4%8))
		take(b, l, a)
	}
	for b.Loop() {
		if spent, err := l.Spent(b.Context(), "default", since, 0); err != nil || len(spent) != 8 {
			b.Fatal(spent, err)
		}
	}
}

func bare(b *testing.B, durable bool) {
	db := database(b, filepath.Join(b.TempDir(), "bare.db"))
	db.SetMaxOpenConns(1)
	synchronous := "full"
	if !durable {
		synchronous = "off"
	}
	for _, text := range []string{"PRAGMA journal_mode = wal", "PRAGMA synchronous = " + synchronous, "CREATE TABLE t (at INTEGER, n INTEGER)"} {
		if _, err := db.ExecContext(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
	begin, err := db.PrepareContext(b.Context(), "BEGIN IMMEDIATE")
	if err != nil {
		b.Fatal(err)
	}
	insert, err := db.PrepareContext(b.Context(), "INSERT INTO t VALUES (?, ?)")
	if err != nil {
		b.Fatal(err)
	}
	commit, err := db.PrepareContext(b.Context(), "COMMIT")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := begin.ExecContext(b.Context()); err != nil {
			b.Fatal(err)
		}
		if _, err := insert.ExecContext(b.Context(), time.Now().UnixMicro(), 1); err != nil {
			b.Fatal(err)
		}
		if _, err := commit.ExecContext(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// refusalAllocates is the most that a refusal may allocate, however long the log is.
const refusalAllocates = 100

func TestARefusalAllocatesLittleHoweverLongTheLog(t *testing.T) {
	if quotatest.Raced {
		t.Skip("the race detector: it allocates as well")
	}
	const entries = 175_000
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	l, _ := filled(t, entries, &now)
	for _, amount := range []int64{1, 100, entries} {
		a := askAt(now, "default", amount, entries+1)
		got := testing.AllocsPerRun(64, func() {
			if d, err := l.Take(t.Context(), a); err != nil || d.Allowed {
				t.Fatal(d, err)
			}
		})
		if got > refusalAllocates {
			t.Errorf("a refusal of %d makes %v allocations, want at most %d", amount, got, refusalAllocates)
		}
		t.Logf("a refusal of %d makes %v allocations", amount, got)
	}
}
