//go:build unix

package pgledger_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/quota/pgledger"
	"github.com/trendvidstream/ingest/quota/quotatest"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

func journal(testing.TB) func() sharedledger.Journal {
	j := &memremote.Journal{}
	return func() sharedledger.Journal { return j }
}

// TestStorms plays storms of losses on a real server, whose clock the test moves: rows are gone or older rows are back,
// and some hosts were idle meanwhile. Between the losses the hosts look, post, refund and drain.
func TestStorms(t *testing.T) { storms(t, 3) }

func TestLongStorms(t *testing.T) { storms(t, 10) }

// TestSoakStorms plays 200 storms if SOAK is set, which takes some ten minutes, and otherwise 2:
//
//	SOAK=1 go test -count=1 -timeout 2h ./quota/pgledger -run '^TestSoakStorms$'
func TestSoakStorms(t *testing.T) {
	seeds := uint64(2)
	if os.Getenv("SOAK") != "" {
		seeds = 200
	}
	storms(t, seeds)
}

func storms(t *testing.T, seeds uint64) {
	t.Helper()
	first := uint64(time.Now().UnixNano() % 1_000_000)
	t.Logf("seeds %d to %d", first, first+seeds-1)
	for n := range seeds {
		t.Run(fmt.Sprint("seed ", first+n), func(t *testing.T) {
			t.Parallel()
			quotatest.Storm(t, quotatest.StormBackend{Journal: journal, Remote: rowsLosing, Idle: true}, first+n)
		})
	}
}

// TestFaultRestoredCopies restores every copy of a PostgreSQL that docs/hosts.md lists, after one of the spenders of
// quotatest.Restores has spent. TestLongFaultRestoredCopies takes more spenders for each copy.
func TestFaultRestoredCopies(t *testing.T) { restoredCopies(t, 1, 1) }

func TestLongFaultRestoredCopies(t *testing.T) { restoredCopies(t, 5, 2) }

// restoredCopies restores each copy of rows once for each of rowsEach spenders, and each copy of a whole server's files
// once for each of filesEach spenders.
func restoredCopies(t *testing.T, rowsEach, filesEach int) {
	t.Helper()
	docs, err := os.ReadFile("../../docs/hosts.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := quotatest.Restores(t, quotatest.StormBackend{Journal: journal, Remote: rowsLosing}, rowsEach)
	rows = append(rows, quotatest.Restores(t, quotatest.StormBackend{Journal: journal, Remote: copied}, filesEach)...)
	for _, r := range rows {
		if t.Log(r); r.Sent != r.Limit || r.Counted != r.Limit {
			t.Errorf("docs/hosts.md promises %d units sent and counted: %s", r.Limit, r)
		}
		if !strings.Contains(string(docs), r.Copy) {
			t.Errorf("docs/hosts.md does not name the copy: %s", r)
		}
	}
}

// rowsLosing is a ledger that loses rows, or gets older rows back, while its server runs.
func rowsLosing(t testing.TB, clock *quotatest.Clock) (func() sharedledger.Remote, []quotatest.Loss) {
	t.Helper()
	d, s := server(t), store(t, server(t), clock)
	_, schema, _ := strings.Cut(s.Address, " ")
	schema = strings.TrimSuffix(schema, "_now")
	loss := func(name, sql string) quotatest.Loss {
		return quotatest.Loss{Name: name, Prepare: func() func() {
			return func() { d.Must(t, strings.ReplaceAll(sql, "{s}", schema)) }
		}}
	}
	return func() sharedledger.Remote { return s.Another(t).(sharedledger.Remote) }, []quotatest.Loss{
		{Name: "older rows are restored", Prepare: func() func() {
			d.Must(t, tables(schema, "DROP TABLE IF EXISTS %[1]s_copy; CREATE TABLE %[1]s_copy AS SELECT * FROM %[1]s"))
			return func() {
				d.Must(t, tables(schema, "DELETE FROM %[1]s; INSERT INTO %[1]s OVERRIDING SYSTEM VALUE SELECT * FROM %[1]s_copy; DROP TABLE %[1]s_copy"))
			}
		}},
		loss("all rows are deleted", tables("{s}", "DELETE FROM %s")),
		loss("the rows of its pools are deleted", "DELETE FROM {s}.pools"),
		loss("its writers are deleted", "DELETE FROM {s}.writers"),
		loss("its log is deleted", "DELETE FROM {s}.entries"),
		loss("its log is deleted, and the length set to 0", "DELETE FROM {s}.entries; UPDATE {s}.pools SET length = 0"),
	}
}

// copied is a server that its older copies replace. Ledgers reach it through a proxy, which leads to the primary.
func copied(t testing.TB, clock *quotatest.Clock) (func() sharedledger.Remote, []quotatest.Loss) {
	t.Helper()
	primary := faulty.Postgres(t, "wal_level=replica", "max_wal_senders=4")
	primary.Must(t, "CREATE TABLE hand (us bigint NOT NULL); INSERT INTO hand VALUES (0)")
	tell := func(now time.Time) { primary.Must(t, fmt.Sprintf("UPDATE hand SET us = %d", now.UnixMicro())) }
	clock.Watch(tell)
	proxy := lossyProxy(t, primary.Addr())
	open := func() sharedledger.Remote {
		l, err := pgledger.OpenWithClock(primary.URLAt(proxy.Addr()), pgledger.Options{Timeout: patient}, "(SELECT us FROM public.hand)")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	back := func() {
		primary.Kill()
		primary.Load(t)
		primary.Restart(t)
		tell(clock.Now())
	}
	return open, []quotatest.Loss{
		{Name: "a base backup comes back", Prepare: func() func() { primary.Backup(t); return back }},
		{Name: "a cold copy comes back", Prepare: func() func() {
			primary.Halt()
			primary.Save(t)
			primary.Restart(t)
			return back
		}},
		{Name: "a replica that lags is promoted", Prepare: func() func() {
			replica := primary.Replica(t)
			replica.Admin(t, "ALTER SYSTEM SET primary_conninfo = ''")
			replica.Admin(t, "SELECT pg_reload_conf()")
			for replica.Admin(t, "SELECT count(*) FROM pg_stat_wal_receiver") != "0" {
				time.Sleep(10 * time.Millisecond)
			}
			return func() {
				primary.Kill()
				replica.Promote(t)
				proxy.Lead(replica.Addr())
				primary = replica
				tell(clock.Now())
			}
		}},
	}
}
