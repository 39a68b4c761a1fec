//go:build unix

package main_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/trendvidstream/ingest/internal/faulty"
)

// TestFaultOfEachKindOfPostgres runs a fault of each kind of a ledger in PostgreSQL. make faults shows its lines, and the
// other faults' lines.
func TestFaultOfEachKindOfPostgres(t *testing.T) {
	t.Parallel()
	runFaults(t, theseOf(t, allFaultsOfPostgres(), true))
}

func TestLongFaultsOfPostgres(t *testing.T) {
	t.Parallel()
	runFaults(t, theseOf(t, allFaultsOfPostgres(), false))
}

func allFaultsOfPostgres() []fault {
	return slices.Concat(postgresFaults(), lostReplies("postgres: ", newPostgresRig), twoHostsOnPostgres(),
		[]fault{promoted(1, 0), promoted(1, time.Second), promoted(2, time.Second)})
}

// onePostgres is one for a ledger in PostgreSQL.
func onePostgres(name string, happens func(s *site), settings ...string) fault {
	return postgresFault(name, happens, func(t *testing.T) *rig { return newPostgresRig(t, 1, settings...) })
}

func postgresFault(name string, happens func(s *site), begin func(*testing.T) *rig) fault {
	return fault{"postgres: " + name, func(t *testing.T) *rig {
		t.Helper()
		r := begin(t)
		s := r.sites[0]
		for end := time.Now().Add(waitAtMost); s.used() <= 0 && time.Now().Before(end); {
			s.spend(cheap, 1) // on a loaded machine the first ones may find no ledger in time
		}
		s.spend(cheap, 39)
		happens(s)
		s.recover()
		s.exhaust()
		return r
	}}
}

func postgresFaults() []fault {
	return []fault{
		onePostgres("refused", func(s *site) { s.proxy.Refuse(); s.outage(); s.pass() }),
		onePostgres("hung, and resumed", func(s *site) { s.pg.Freeze(); s.outage(); s.pg.Thaw() }),
		onePostgres("network hangs, and passes on late what it held", func(s *site) { s.proxy.Hang(); s.outage(); s.pass() }),
		onePostgres("replies 2 s late", func(s *site) { s.proxy.Delay(2 * time.Second); s.trouble(); s.pass() }),
		onePostgres("killed (-9), and back", func(s *site) { s.pg.Kill(); s.outage(); s.pg.Restart(s) }),
		onePostgres("killed in no time, and back", func(s *site) { s.pg.Kill(); s.pg.Restart(s) }),
		onePostgres("killed in a take that has not arrived", func(s *site) { s.killPostgresAt(faulty.Asked, 3); s.trouble(); s.pg.Restart(s) }),
		onePostgres("killed in a take that was committed", func(s *site) { s.killPostgresAt(faulty.Executed, 3); s.trouble(); s.pg.Restart(s) }),
		killedWhileTold(faulty.Asked), killedWhileTold(faulty.Executed),
		onePostgres("back on an older copy of its data", func(s *site) {
			s.copyPostgres()
			s.spend(cheap, 20)
			s.pg.Kill()
			s.pg.Load(s)
			s.pg.Restart(s)
		}),
		onePostgres("an older copy, and nobody looks before it died", func(s *site) {
			s.copyPostgres()
			s.spend(cheap, 20)
			s.pg.Kill()
			s.pg.Load(s)
			s.pg.Restart(s)
			s.crashAndOpen()
		}),
		onePostgres("an outage, then an older copy before it is synced", func(s *site) {
			s.copyPostgres()
			s.spend(cheap, 20)
			s.proxy.Refuse()
			s.outage()
			s.pg.Kill()
			s.pg.Load(s)
			s.pg.Restart(s)
			s.pass()
		}),
		onePostgres("the schema dropped", func(s *site) { s.pg.Must(s, "DROP SCHEMA ingest_quota CASCADE") }),
		onePostgres("the log of a pool deleted", func(s *site) { s.pg.Must(s, "DELETE FROM ingest_quota.entries") }),
		onePostgres("the account deleted", func(s *site) { s.pg.Must(s, "DELETE FROM ingest_quota.accounts") }),
		onePostgres("read-only, and writable again", func(s *site) {
			s.setPostgres("default_transaction_read_only", "on")
			s.outage()
			s.setPostgres("default_transaction_read_only", "off")
		}),
		onePostgres("somebody holds its tables", func(s *site) {
			c := s.connection()
			s.exec(c, "BEGIN; LOCK TABLE ingest_quota.accounts")
			s.outage()
			s.exec(c, "ROLLBACK")
		}),
		onePostgres("no connection left", func(s *site) {
			leave := s.takeAllConnections()
			s.outage()
			leave()
		}, "max_connections=10", "superuser_reserved_connections=0"),
		onePostgres("a newer program has changed the schema, and back", func(s *site) {
			s.pg.Must(s, "UPDATE ingest_quota.ledger SET version = version + 1; ALTER FUNCTION ingest_quota.take_1 RENAME TO take_2; ALTER FUNCTION ingest_quota.peek_1 RENAME TO peek_2")
			s.outage()
			s.pg.Must(s, "UPDATE ingest_quota.ledger SET version = version - 1; ALTER FUNCTION ingest_quota.take_2 RENAME TO take_1; ALTER FUNCTION ingest_quota.peek_2 RENAME TO peek_1")
		}),
		onDisk("its disk full, and room again", func(s *site) {
			s.pg.Fill(s)
			var sum spree
			for range 200 { // until a page more is needed
				if s.call(cheap, &sum) != nil || sum.degraded > 0 {
					break
				}
			}
			shut := s.spend(expensive, 1)
			s.want(sum.degraded+sum.closed > 0 && shut.closed == 1, "with the disk full: %+v, and an expensive call: %+v", sum, shut)
			s.pg.Free(s)
		}),
		onDisk("no room for its log: it ends, and starts with room", func(s *site) {
			s.pg.Fill(s)
			_, _ = s.pg.QueryAsAdmin(context.Background(), "SELECT pg_switch_wal()")
			s.outage()
			s.pg.Free(s)
			s.pg.Kill() // which it retried by itself
			s.pg.Restart(s)
		}),
		lostSyncReply(onePostgres, 1), lostSyncReply(onePostgres, 2), lostSyncReply(onePostgres, 3),
	}
}

// onDisk is one for a server whose disk can be filled.
func onDisk(name string, happens func(s *site)) fault {
	return postgresFault(name, happens, func(t *testing.T) *rig {
		return onPostgres(t, 1, faulty.PostgresOnDisk(t), postgresScripts...)
	})
}

// killedWhileTold is a server that dies in the COMMIT that posts an outage's spends.
func killedWhileTold(m faulty.Moment) fault {
	when := map[faulty.Moment]string{faulty.Asked: "before", faulty.Executed: "after"}[m]
	return postgresFault("killed in the COMMIT of what is synced, "+when, func(s *site) {
		s.proxy.Refuse()
		s.outage()
		s.pass()
		killed := s.killPostgresAt(m, 1)
		for end := time.Now().Add(waitAtMost); !killed() && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			s.spend(cheap, 1) // the breaker
		}
		s.want(killed(), "it was never synced")
		s.pg.Restart(s)
	}, func(t *testing.T) *rig { return onPostgres(t, 1, faulty.Postgres(t), "COMMIT") })
}

// killPostgresAt kills the server, like a power cut, at the n-th such moment of a script. killed reports whether it
// has.
func (s *site) killPostgresAt(m faulty.Moment, n int) (killed func() bool) {
	var mu sync.Mutex
	s.proxy.Watch(func(now faulty.Moment) {
		mu.Lock()
		defer mu.Unlock()
		if now != m || n == 0 {
			return
		}
		if n--; n == 0 {
			s.pg.Kill()
		}
	})
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		return n == 0
	}
}

// copyPostgres copies its present data.
func (s *site) copyPostgres() {
	s.pg.Halt()
	s.pg.Save(s)
	s.pg.Restart(s)
	s.recover()
}

// setPostgres changes a setting for everybody, and waits until new sessions have it.
func (s *site) setPostgres(name, value string) {
	s.pg.Admin(s, "ALTER SYSTEM SET "+name+" = "+value)
	s.pg.Admin(s, "SELECT pg_reload_conf()")
	for end := time.Now().Add(waitAtMost); s.pg.Must(s, "SHOW "+name) != value && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	s.proxy.Cut() // sessions that were there hear of it later
}

// connection opens a foreign connection.
func (s *site) connection() *pgconn.PgConn {
	c, err := pgconn.Connect(context.Background(), s.pg.URL())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func (s *site) exec(c *pgconn.PgConn, sql string) {
	if _, err := c.Exec(context.Background(), sql).ReadAll(); err != nil {
		s.Fatal(err)
	}
}

// takeAllConnections leaves the server no connections for others.
func (s *site) takeAllConnections() (leave func()) {
	s.proxy.Refuse()
	var all []*pgconn.PgConn
	for refused := 0; refused < 20; { // who was cut off may take a moment to go
		c, err := pgconn.Connect(context.Background(), s.pg.URL())
		if err != nil {
			refused++
			time.Sleep(10 * time.Millisecond)
			continue
		}
		all = append(all, c)
	}
	s.want(len(all) == 10, "%d connections, where there are ten", len(all))
	s.pass()
	return func() {
		for _, c := range all {
			_ = c.Close(context.Background())
		}
	}
}

func twoHostsOnPostgres() []fault {
	both := func(name string, happens func(a, b *site)) fault {
		return onBoth("postgres: two hosts, "+name, newPostgresRig, happens)
	}
	older := func(a, b *site) {
		a.copyPostgres()
		a.spend(cheap, 20)
		b.spend(cheap, 20)
		a.spend(cheap, 1)
	}
	return []fault{
		both("an older copy: the gate is closed", func(a, b *site) {
			older(a, b)
			a.pg.Kill()
			a.pg.Load(a)
			a.pg.Restart(a)
			a.wantClosedUntilSynced()
		}),
		both("an older copy, and one is away", func(a, b *site) {
			older(a, b)
			b.stop()
			a.pg.Kill()
			a.pg.Load(a)
			a.pg.Restart(a)
			a.wantClosedUntilSynced()
			a.recover()
			a.exhaust()
			b.open()
		}),
		both("the schema dropped", func(a, b *site) { a.pg.Must(a, "DROP SCHEMA ingest_quota CASCADE"); a.wantClosedUntilSynced() }),
		both("killed while both take", func(a, b *site) {
			killed := a.killPostgresAt(faulty.Executed, 15)
			var all sync.WaitGroup
			for _, s := range []*site{a, b} {
				all.Go(func() {
					for range 10 {
						s.spend(cheap, 1)
					}
				})
			}
			all.Wait()
			a.want(killed(), "it was not killed")
			a.pg.Restart(a)
		}),
	}
}

// spendOnBoth has two hosts spend, and the first see the second's spends.
func (r *rig) spendOnBoth() {
	a, b := r.sites[0], r.sites[1]
	a.recover()
	b.recover()
	a.spend(cheap, 40)
	b.spend(cheap, 40)
	for end := time.Now().Add(waitAtMost); a.spend(cheap, 1).allowed == 0 && time.Now().Before(end); { // on a busy machine it may take a while
		a.recover()
	}
}

// wantClosedUntilSynced requires that expensive calls stay closed until all hosts have synced.
func (s *site) wantClosedUntilSynced() {
	early := s.spend(expensive, 1)
	s.want(early.closed == 1, "an expensive call before the other host has synced: %+v", early)
}

// promoted is a server that dies and is replaced by its replica, which lags by the given amount.
func promoted(hosts int, lag time.Duration) fault {
	return fault{fmt.Sprintf("postgres: replica promoted, behind by %v, hosts: %d", lag, hosts), func(t *testing.T) *rig {
		t.Helper()
		r := newPostgresRig(t, hosts, "wal_level=replica", "max_wal_senders=4")
		line := faulty.BeforePostgres(t, r.pg.Addr())
		replica := r.pg.Replica(t, line.Followed())
		for end := time.Now().Add(waitAtMost); r.pg.Admin(t, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") != "1" && time.Now().Before(end); {
			time.Sleep(20 * time.Millisecond)
		}
		s := r.sites[0]
		if hosts == 2 {
			r.spendOnBoth()
		} else {
			s.spend(cheap, 40)
		}
		line.Lag(lag)
		for i := range 20 {
			r.sites[i%hosts].spend(cheap, 2)
			time.Sleep(lag / 10)
		}
		r.pg.Kill()
		line.Refuse()
		s.trouble()
		replica.Promote(t)
		r.proxy.Lead(replica.Addr())
		if hosts == 2 {
			s.wantClosedUntilSynced()
		}
		for _, s := range r.sites {
			s.recover()
		}
		for _, s := range r.sites {
			s.exhaust()
		}
		return r
	}}
}
