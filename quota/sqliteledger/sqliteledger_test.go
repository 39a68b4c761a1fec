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
		_ = flag.Set("rapid.checks", "20") // the tests without the detector make the hundred
	}
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	b := quotatest.Backend{
		Name: "sqliteledger",
		Open: openStore,
		Keys: 2000, // every charge is written to disk: a hundred thousand take a minute
		Without: map[quotatest.Capability]string{
			quotatest.LoseReply: "no reply is ever on its way",
			quotatest.Evict:     "its file is either there or not",
			quotatest.OwnClock:  "its clock is its caller's",
		},
	}
	if quotatest.Raced {
		b.Steps, b.Keys, b.Entries = 2000, 300, 1000
	}
	quotatest.Run(t, b)
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
	return quotatest.Store{Ledger: another(t), Another: another, Address: path, Held: func(t testing.TB) quotatest.Held {
		t.Helper()
		var h quotatest.Held
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
