package sqliteledger_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// BenchmarkTake is a take of one unit and, beside it, what it is made of at the least: one row
// written in an immediate transaction of the same durability.
func BenchmarkTake(b *testing.B) {
	costs, err := os.ReadFile("../../costs.yaml")
	if err != nil {
		b.Fatal(err)
	}
	tariff, err := quota.ParseCosts("costs.yaml", costs, "youtube", "")
	if err != nil {
		b.Fatal(err)
	}
	for p := range tariff.Pools {
		for w := range tariff.Pools[p].Windows {
			tariff.Pools[p].Windows[w].Limit = quota.MaxLimit
		}
	}
	b.Run("take", func(b *testing.B) {
		l, err := sqliteledger.Open(b.Context(), filepath.Join(b.TempDir(), "quota.db"))
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		g := &quota.Governor{Ledger: l, Tariff: tariff, Account: "default", Now: time.Now}
		for b.Loop() {
			d, err := g.Take(b.Context(), quota.Request{Method: "videos.list", Region: "US", Purpose: quota.Scheduled})
			if err != nil || !d.Allowed {
				b.Fatal(d, err)
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "bare.db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_txlock=immediate")
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		db.SetMaxOpenConns(1)
		if _, err := db.ExecContext(b.Context(), "CREATE TABLE t (at INTEGER, n INTEGER)"); err != nil {
			b.Fatal(err)
		}
		insert, err := db.PrepareContext(b.Context(), "INSERT INTO t VALUES (?, ?)")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			tx, err := db.BeginTx(b.Context(), nil)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := tx.StmtContext(b.Context(), insert).ExecContext(b.Context(), time.Now().UnixMicro(), 1); err != nil {
				b.Fatal(err)
			}
			if err := tx.Commit(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
