//go:build unix

package pgledger_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/pgledger"
	"github.com/trendvidstream/ingest/quota/quotatest"
)

// shared is the server of all tests except tests that break their server.
var shared struct {
	once sync.Once
	*faulty.Database

	err error
}

func TestMain(m *testing.M) {
	quotatest.Worker(openWorker)
	code := m.Run()
	for _, p := range places.free {
		_ = p.c.Close(context.Background())
	}
	if shared.Database != nil {
		shared.Stop()
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func server(t testing.TB) *faulty.Database {
	t.Helper()
	shared.once.Do(func() { shared.Database, shared.err = faulty.StartPostgres() })
	if errors.Is(shared.err, faulty.ErrAbsent) {
		t.Skipf("postgres: %v: install postgresql 15 or newer, or set POSTGRES_BIN to the directory of its programs", shared.err)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.Database
}

// patient is a time-out that a busy machine does not reach.
const patient = 30 * time.Second

// store is a store for the suite: a schema of its own on the server, read by a clock of its own.
func store(t testing.TB, d *faulty.Database, clock *quotatest.Clock) quotatest.Store {
	t.Helper()
	return storeAt(t, d, d.Addr(), clock)
}

func storeAt(t testing.TB, d *faulty.Database, addr string, clock *quotatest.Clock) quotatest.Store {
	t.Helper()
	place := freePlace(t, d)
	schema := place.schema
	var mu sync.Mutex
	do := func(t testing.TB, sql string) string {
		mu.Lock()
		defer mu.Unlock()
		return place.do(t, sql)
	}
	hand := fmt.Sprintf("(SELECT us FROM %s_clock)", schema)
	clock.Watch(func(now time.Time) { do(t, fmt.Sprintf("UPDATE %s_clock SET us = %d", schema, now.UnixMicro())) })
	proxy := lossyProxy(t, addr)
	another := func(t testing.TB) quota.Ledger {
		t.Helper()
		l, err := pgledger.OpenWithClock(d.URLAt(proxy.Addr()), pgledger.Options{Schema: schema, Timeout: patient}, hand)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	ledger := another(t)
	if err := ledger.Reset(t.Context(), "none"); err != nil { // the schema is there from now on
		t.Fatal(err)
	}
	return quotatest.Store{
		Ledger: ledger, Another: another, Address: d.URLAt(addr) + " " + schema + "_now", OwnClock: true,
		LoseReply: func(testing.TB) { proxy.Lose(1, faulty.Closed) },
		Footprint: func(t testing.TB) quotatest.Footprint {
			var h quotatest.Footprint
			for i, n := range []*int{&h.Accounts, &h.Entries} {
				count := do(t, fmt.Sprintf("SELECT count(*) FROM %s.%s", schema, []string{"accounts", "entries"}[i]))
				if _, err := fmt.Sscan(count, n); err != nil {
					t.Fatal(err)
				}
			}
			return h
		},
		Evict: func(t testing.TB) {
			do(t, tables(schema, "DELETE FROM %s"))
		},
		EvictPart: func(t testing.TB, account string, part quotatest.Part) {
			id := fmt.Sprintf("(SELECT id FROM %s.accounts WHERE name = '%s')", schema, account)
			do(t, strings.NewReplacer("{s}", schema, "{a}", id).Replace(map[quotatest.Part]string{
				quotatest.PartLog:     "DELETE FROM {s}.entries WHERE pool IN (SELECT id FROM {s}.pools WHERE account = {a} AND name = 'units')",
				quotatest.PartPool:    "DELETE FROM {s}.pools WHERE account = {a} AND name = 'units'",
				quotatest.PartWriters: "DELETE FROM {s}.writers WHERE account = {a}",
			}[part]))
		},
	}
}

// place is a schema, and a connection that stays open. Once a test is done with it the next one gets it, emptied.
type place struct {
	schema string
	c      *pgconn.PgConn
}

var places struct {
	sync.Mutex

	free []*place
	all  int
}

func freePlace(t testing.TB, d *faulty.Database) *place {
	t.Helper()
	places.Lock()
	defer places.Unlock()
	var p *place
	if n := len(places.free); n > 0 {
		p, places.free = places.free[n-1], places.free[:n-1]
		p.do(t, tables(p.schema, "DELETE FROM %s"))
	} else {
		c, err := pgconn.Connect(context.Background(), d.URL())
		if err != nil {
			t.Fatal(err)
		}
		places.all++
		p = &place{fmt.Sprintf("store_%d", places.all), c}
		p.do(t, fmt.Sprintf("CREATE TABLE %s_clock (us bigint NOT NULL); INSERT INTO %[1]s_clock VALUES (0)", p.schema))
	}
	t.Cleanup(func() {
		places.Lock()
		defer places.Unlock()
		places.free = append(places.free, p)
	})
	return p
}

// tables says the same of each table that a ledger has.
func tables(schema, what string) (sql string) {
	for _, table := range []string{"accounts", "pools", "entries", "writers", "raised"} {
		sql += fmt.Sprintf(what, schema+"."+table) + ";"
	}
	return sql
}

// do runs statements, and returns the first field of the last answer.
func (p *place) do(t testing.TB, sql string) string {
	results, err := p.c.Exec(context.Background(), sql).ReadAll()
	if err != nil {
		t.Errorf("%s: %v", sql, err)
	}
	if n := len(results); n > 0 && len(results[n-1].Rows) > 0 {
		return string(results[n-1].Rows[0][0])
	}
	return ""
}

// openWorker opens a store for another process, by the server's own clock.
func openWorker(ctx context.Context, address string) (quota.Ledger, error) {
	url, schema, _ := strings.Cut(address, " ")
	return pgledger.Open(ctx, url, pgledger.Options{Schema: schema, Timeout: patient})
}

// lossyProxy loses answers: to a take, and to a COMMIT.
func lossyProxy(t testing.TB, server string) *faulty.Proxy {
	t.Helper()
	return faulty.BeforePostgres(t, server, ".take_1(", "COMMIT")
}
