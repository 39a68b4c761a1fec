//go:build unix

package main_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// scale is three machines on one PostgreSQL, as make scale-demo shows them.
type scale struct {
	*programRig

	machines map[string]*served // by name
	realTime bool               // leases are as long as elsewhere
}

const demoLease = 8 * time.Second

// TestLongScaleDemo kills the leader of three machines and another, each in the middle of a pass, and compares the
// account of the remaining one with the upstream's own count. Its output is the output of make scale-demo.
func TestLongScaleDemo(t *testing.T) {
	t.Parallel()
	s := newScale(t)
	p := s.programRig
	s.say("Three machines, with nothing in common but one %s:", s.version())
	s.say("   ingest serve --workers 1 --store postgres://... --ledger postgres://...")
	s.say("Sixteen charts a minute, of two calls each. A stand-in upstream takes 400 ms a")
	s.say("call, and counts for itself. A lease is %v here, and three minutes elsewhere.", demoLease)
	s.start("a", "b", "c")

	s.say("\n1. They share the work. One of them leads: it looks what is due, for all")
	s.wait("four charts are done and one machine leads", func() bool { return s.done() >= 4 && s.leads() != "" })
	leader := s.leads()
	s.say("   %d charts are done, %s leads", s.done(), leader)

	s.say("\n2. The leader is killed (kill -9) in the middle of a pass")
	s.kill(leader)
	began := time.Now()
	s.wait("another leads", func() bool { return s.leads() != "" })
	leader = s.leads()
	s.say("   %.0f s later %s leads", time.Since(began).Seconds(), leader)

	s.say("\n3. So is another, which does not lead")
	for name := range s.machines {
		if name != leader {
			s.kill(name)
		}
	}
	s.say("   %s is alone", leader)

	s.say("\n4. What the dead had begun is passed by %s, once its lease is over", leader)
	s.settled()
	s.account()
	verdict := "All of it held"
	if len(p.wrong) > 0 {
		verdict = "BROKEN: " + strings.Join(p.wrong, "; ")
		t.Fail()
	}
	s.say("\n%s, in %.0f s.", verdict, time.Since(p.began).Seconds())
}

func newScale(t *testing.T) *scale {
	t.Helper()
	p := newProgram(t, "postgres", 1_000_000, youtubesim.Options{Seed: 5, Latency: 400 * time.Millisecond})
	p.write("ingest.yaml", "pacing: off\njobs:\n  - {name: popular, kind: chart, every: 1m, pages: 2}\n  - {name: second, kind: chart, every: 1m, pages: 2}\n")
	return &scale{programRig: p, machines: map[string]*served{}}
}

// start starts machines, each with a data directory of its own.
func (s *scale) start(names ...string) {
	s.Helper()
	for _, name := range names {
		env := []string{leaseEnv + "=" + demoLease.String()}
		if s.realTime {
			env = nil
		}
		cmd, _, _ := s.command(env, "serve", "--workers", "1", "--data", filepath.Join(s.dir, name))
		s.machines[name] = startCommand(s.T, cmd)
	}
}

// settled waits until everything due by now is done, and stops the remaining machines.
func (s *scale) settled() {
	s.Helper()
	until := time.Now().Unix()
	s.wait("all that was due is done", func() bool {
		return s.number("SELECT count(*) FROM ingest.slots WHERE state IN ('due', 'claimed') AND due_at <= %d", until) == 0
	})
	for _, m := range s.machines {
		m.end(syscall.SIGTERM)
	}
}

func (s *scale) say(format string, args ...any) { s.Helper(); s.Logf(format, args...) }

func (s *scale) version() string {
	fields := strings.Fields(s.pg.Must(s, "SELECT version()"))
	return strings.Join(fields[:2], " ")
}

func (s *scale) number(query string, args ...any) (n int64) {
	s.Helper()
	if _, err := fmt.Sscan(s.pg.Must(s, fmt.Sprintf(query, args...)), &n); err != nil {
		s.Fatal(err)
	}
	return n
}

func (s *scale) done() int64 {
	if !s.hasStore() {
		return 0
	}
	return s.number("SELECT count(*) FROM ingest.slots WHERE state = 'done'")
}

// wait waits for a condition of the remaining machines.
func (s *scale) wait(what string, is func() bool) {
	s.Helper()
	for _, m := range s.machines {
		m.until(what, func() bool {
			time.Sleep(100 * time.Millisecond) // the test waits for real machines
			return is()
		})
		return
	}
}

// leads returns the name of the leader, "" if none of the remaining machines is known to lead.
func (s *scale) leads() string {
	if s.pg.Must(s, "SELECT to_regclass('river_leader') IS NULL") == "t" {
		return ""
	}
	id := "/" + s.pg.Must(s, "SELECT leader_id FROM river_leader") + "/"
	for name, m := range s.machines {
		if strings.Contains(id, fmt.Sprintf("/%d/", m.cmd.Process.Pid)) {
			return name
		}
	}
	return ""
}

// kill ends a machine in the middle of a pass. It leaves no late operation, which no other host could post.
func (s *scale) kill(name string) {
	s.Helper()
	m, chart := s.machines[name], ""
	holds := fmt.Sprintf("state = 'claimed' AND owner LIKE '%%/%d/%%'", m.cmd.Process.Pid)
	s.wait(name+" is in the middle of a pass", func() bool {
		chart = s.pg.Must(s, "SELECT job || ' ' || key FROM ingest.slots JOIN ingest.series ON series.id = series WHERE "+holds)
		return chart != "" && s.number("SELECT coalesce((SELECT sum(total) FROM ingest_quota.pools WHERE name = 'units'), 0) - sum(units) FROM ingest.slots") >= 0
	})
	_ = m.cmd.Process.Kill()
	<-m.gone
	delete(s.machines, name)
	s.say("   %s is killed while it fetches %s", name, chart)
}

// account compares the spends in the ledger, the upstream and the slots.
func (s *scale) account() {
	s.Helper()
	sent, ledger, slots := s.sim.Ledger().Units["units"], s.used(), s.number("SELECT sum(units) FROM ingest.slots")
	lost := ledger - slots
	s.say("   %d charts are done, and each of their %d pages is there once", s.done(), s.number("SELECT sum(pages) FROM ingest.slots WHERE state = 'done'"))
	s.say("\n5. The account")
	s.say("   %5d units by the ledger", ledger)
	s.say("   %5d units by the upstream's own count", sent)
	s.say("   %5d units in the slots, and %d whose machine was killed before it saved them", slots, lost)
	s.want(ledger == sent, "the ledger counts %d, and %d arrived", ledger, sent)
	s.want(lost >= 0 && lost <= 2, "%d units are in no slot, where two machines were killed", lost)
	s.checkPages()
}
