//go:build unix

package main_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// behind puts another proxy in front of the PostgreSQL, which recognizes statements with one of the words.
func (p *programRig) behind(words ...string) {
	p.proxy = faulty.BeforePostgres(p, p.pg.Addr(), words...)
	p.ledger = p.pg.URLAt(p.proxy.Addr())
	p.stored = p.ledger
}

// TestLongFaultPostgresKilledUnderARun kills the server during a run: in its takes, in the pages it saves, and in every
// COMMIT.
func TestLongFaultPostgresKilledUnderARun(t *testing.T) {
	t.Parallel()
	for what, word := range map[string]string{"in takes": ".take_1(", "in page saves": "INTO placements", "in COMMITs": "COMMIT"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, "postgres", 1000, youtubesim.Options{})
			p.want(p.force() == exitOK, "no first run")
			p.behind(word)
			for _, m := range []faulty.Moment{faulty.Asked, faulty.Executed} {
				for _, n := range []int64{1, 3, 8}[:fewer(3, 1)] {
					p.killPostgresIn(m, n)
				}
			}
			p.nextSecond()
			p.want(p.force() == exitOK, "the last run")
			p.judge("postgres killed (-9) " + what)
		})
	}
}

// killPostgresIn kills the server at the n-th moment of a run, and restarts it before the next.
func (p *programRig) killPostgresIn(m faulty.Moment, n int64) {
	p.nextSecond()
	p.expireLeases()
	var passed atomic.Int64
	p.proxy.Watch(func(now faulty.Moment) {
		if now == m && passed.Add(1) == n {
			p.pg.Kill()
		}
	})
	code, _, errs := p.do(nil, "run", "--quiet", "--force")
	p.proxy.Watch(nil)
	p.want(passed.Load() >= n, "it was not killed: exit %d: %s", code, errs)
	p.want(code == exitError || code == exitPartial || code == exitUnavailable, "with the server killed: exit %d: %s", code, errs)
	p.inDoubt++
	p.pg.Restart(p)
	p.used() // until the ledger is asked again
}

// TestLongFaultPostgresLost takes away the ledger's contents, and this host's knowledge of them.
func TestLongFaultPostgresLost(t *testing.T) {
	t.Parallel()
	t.Run("an older copy", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t, "postgres", 1000, youtubesim.Options{})
		p.force()
		p.pg.Halt()
		p.pg.Save(p)
		p.pg.Restart(p)
		for range 2 {
			p.nextSecond()
			p.want(p.force() == exitOK, "no run")
		}
		p.pg.Kill()
		p.pg.Load(p)
		p.pg.Restart(p)
		p.nextSecond()
		p.want(p.force() == exitOK, "no run on the older copy")
		p.judge("postgres: store and ledger back on an older copy")
	})
	t.Run("the ledger and the journal, the store has seen more", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t, "postgres", 1000, youtubesim.Options{})
		p.force()
		p.pg.Must(p, "DROP SCHEMA ingest_quota CASCADE")
		if err := os.RemoveAll(p.data()); err != nil {
			t.Fatal(err)
		}
		before := p.sim.Ledger().Units["units"]
		p.nextSecond()
		p.expireLeases()
		code, _, errs := p.do(nil, "run", "--quiet", "--force")
		p.want(code == exitUnavailable && strings.Contains(errs, "ingest quota rebuild"), "with the ledger lost: exit %d: %s", code, errs)
		p.want(p.sim.Ledger().Units["units"] == before, "the gate was open")
		code, _, errs = p.do(nil, "quota", "rebuild")
		p.want(code == exitUnavailable, "a rebuild: exit %d: %s", code, errs)
		code, _, errs = p.do(nil, "quota", "post", "units", strconv.FormatInt(before, 10))
		p.want(code == exitOK, "the provider's count is posted: exit %d: %s", code, errs)
		p.want(p.force() == exitOK, "no run after the rebuild")
		p.judge("postgres: the ledger lost, gate closed until rebuilt")
	})
	t.Run("a full disk", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t, "postgres", 1000, youtubesim.Options{})
		p.pg = faulty.PostgresOnDisk(t)
		p.behind(postgresScripts...)
		p.want(p.force() == exitOK, "no first run")
		p.pg.Fill(p)
		failed := 0
		for range 4 {
			p.nextSecond()
			p.expireLeases()
			code, _, errs := p.do(nil, "run", "--quiet", "--force")
			p.want(code == exitOK || code == exitError || code == exitPartial || code == exitUnavailable, "with its disk full: exit %d: %s", code, errs)
			p.inDoubt++
			if code != exitOK {
				failed++
			}
		}
		p.want(failed > 0, "the disk was never full")
		p.pg.Free(p)
		p.want(p.force() == exitOK, "no run with room again")
		p.judge("postgres: its disk full under runs")
	})
}

// TestLongFaultPostgresVersions has a newer program change the tables before and during this one's work.
func TestLongFaultPostgresVersions(t *testing.T) {
	t.Parallel()
	const newer = "UPDATE ingest_quota.ledger SET version = version + 1; ALTER FUNCTION ingest_quota.take_1 RENAME TO take_2; ALTER FUNCTION ingest_quota.peek_1 RENAME TO peek_2"
	const older = "UPDATE ingest_quota.ledger SET version = version - 1; ALTER FUNCTION ingest_quota.take_2 RENAME TO take_1; ALTER FUNCTION ingest_quota.peek_2 RENAME TO peek_1"
	for _, of := range []struct{ what, table, change, undo string }{
		{"store", "ingest.placements", "UPDATE ingest.meta SET value = '99' WHERE name = 'version'", ""},
		{"ledger", "ingest_quota.entries", newer, older},
	} {
		t.Run(of.what, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, "postgres", 1000, youtubesim.Options{})
			p.force()
			if of.undo == "" {
				of.undo = "UPDATE ingest.meta SET value = '" + p.pg.Must(p, "SELECT value FROM ingest.meta WHERE name = 'version'") + "' WHERE name = 'version'"
			}
			rows := func() (n int) {
				_, err := fmt.Sscan(p.pg.Must(p, "SELECT count(*) FROM "+of.table), &n)
				p.want(err == nil, "count: %v", err)
				return n
			}
			refused := func(when string, code int, errs string, before, inFlight int) {
				p.want(code != exitOK && code != -1 && strings.Contains(errs, "this program knows version "), "%s: exit %d: %s", when, code, errs)
				n := rows()
				p.want(n >= before && n <= before+inFlight, "%s: %d rows, before %d", when, n, before)
			}
			p.pg.Must(p, of.change)
			before, sent := rows(), p.sim.Ledger().Units["units"]
			p.nextSecond()
			p.expireLeases()
			code, _, errs := p.do(nil, "run", "--quiet", "--force")
			refused("a newer "+of.what, code, errs, before, 0)
			p.want(p.sim.Ledger().Units["units"] == sent, "units were spent")
			p.pg.Must(p, of.undo)

			// In the middle of a run.
			var done atomic.Bool
			p.proxy.Watch(func(m faulty.Moment) {
				if m == faulty.Executed && p.sim.Ledger().Units["units"] >= sent+3 && !done.Swap(true) {
					p.pg.Must(p, of.change)
					before = rows()
				}
			})
			p.nextSecond()
			p.expireLeases()
			code, _, errs = p.do(nil, "run", "--quiet", "--force")
			p.proxy.Watch(nil)
			p.want(done.Load(), "it was never changed")
			refused("a newer "+of.what+" in the middle", code, errs, before, 3*50) // the pages of three other passes may be on their way
			p.pg.Must(p, of.undo)
			p.want(p.force() == exitOK, "no run on the tables as they were")
			p.inDoubt++
			p.judge("postgres: a newer program changes the " + of.what)
		})
	}
}
