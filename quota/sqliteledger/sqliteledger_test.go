package sqliteledger_test

import (
	"context"
	"database/sql"
	"flag"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

func TestMain(m *testing.M) {
	quotatest.Worker(func(ctx context.Context, address string) (quota.Ledger, error) {
		return sqliteledger.Open(ctx, address)
	})
	if quotatest.Raced {
		_ = flag.Set("rapid.checks", "20") // the tests without the detector make more
	}
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	quotatest.Run(t, backend(2000, 300, 1000))
}

// The cases whose size matters, at full size; every charge is written to disk, so that ten thousand
// one-off accounts have to do.
func TestLongConformance(t *testing.T) {
	for _, c := range quotatest.Cases() {
		if c.ID == "A6" || c.ID == "F2" || c.ID == "F3" {
			t.Run(c.String(), func(t *testing.T) { c.Check(t, backend(10_000, 10_000, 10_000)) })
		}
	}
}

// Random steps of another seed each time: see quotatest.Differential.
func TestDifferential(t *testing.T) { quotatest.Differential(t, backend(1, 1, 1), 3_000) }

func TestSoakDifferential(t *testing.T) { quotatest.SoakDifferential(t, backend(1, 1, 1)) }

func backend(steps, keys, entries int) quotatest.Backend {
	return quotatest.Backend{
		Name: "sqliteledger", Open: openStore,
		Steps: steps, Keys: keys, Entries: entries, Many: 5 * entries,
		Without: map[quotatest.Capability]string{
			quotatest.LoseReply: "no reply is ever on its way",
			quotatest.Evict:     "its file is either there or not",
			quotatest.OwnClock:  "its clock is its caller's",
		},
	}
}

func openStore(t testing.TB, clock *quotatest.Clock) quotatest.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "quota.db")
	another := func(t testing.TB) quota.Ledger {
		t.Helper()
		l := open(t, path)
		l.Now = clock.Now
		return l
	}
	file := &quotatest.File{Path: path, Open: func() (quota.Ledger, error) {
		l, err := sqliteledger.Open(t.Context(), path)
		if err != nil {
			return nil, err
		}
		l.Now = clock.Now
		t.Cleanup(func() { _ = l.Close() })
		return l, nil
	}}
	return quotatest.Store{Ledger: another(t), Another: another, Address: path, File: file, Footprint: func(t testing.TB) quotatest.Footprint {
		t.Helper()
		var h quotatest.Footprint
		err := database(t, path).QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM accounts), (SELECT count(*) FROM entries)`).Scan(&h.Accounts, &h.Entries)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}}
}

func open(t testing.TB, path string) *sqliteledger.Ledger {
	t.Helper()
	l, err := sqliteledger.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// database opens a file as SQLite sees it.
func database(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
