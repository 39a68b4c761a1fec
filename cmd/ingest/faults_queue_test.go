//go:build unix

package main_test

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// queueRunsEnv is how many runs of each fault are made; 1 unless it says otherwise.
const queueRunsEnv = "INGEST_TEST_RUNS"

// TestLongFaultQueue breaks the queue of three machines on one PostgreSQL: the truth is in our tables, so nothing is
// lost with the queue, and nothing is done twice. Sixteen charts are due each minute; how many of them are passed over
// for a newer one is a column, and has a bound: none, except for the series whose slot a machine holds that is frozen
// for its lease, as no other machine may claim one of them meanwhile. That lease is three minutes if INGEST_TEST_RUNS is set.
func TestLongFaultQueue(t *testing.T) {
	t.Parallel()
	runs, err := strconv.Atoi(os.Getenv(queueRunsEnv))
	if err != nil {
		runs = 1
	}
	few := make(chan struct{}, 2) // fleets at once
	for _, f := range []struct {
		name    string
		happens func(s *scale)
		skipped int64 // at most
	}{
		{"the leader frozen for its lease", func(s *scale) { s.freeze(s.leads()) }, 5},
		{"river_job emptied in the middle", func(s *scale) { s.pg.Must(s, "DELETE FROM river_job") }, 0},
		{"every job doubled", func(s *scale) {
			s.pg.Must(s, "INSERT INTO river_job (kind, args, queue, max_attempts, state) SELECT kind, args, queue, max_attempts, 'available' FROM river_job WHERE state IN ('available', 'running')")
		}, 0},
		{"the leader killed", func(s *scale) { s.kill(s.leads()); s.inDoubt++ }, 0},
		{"River's tables of a newer version", func(s *scale) {
			s.pg.Must(s, "INSERT INTO river_migration (line, version) VALUES ('main', 99)")
			s.start("d")
		}, 0},
	} {
		for run := range runs {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				few <- struct{}{}
				defer func() { <-few }()
				s := newScale(t)
				s.realTime = err == nil && f.skipped > 0
				began := time.Now()
				s.start("a", "b", "c")
				s.wait("two charts are done and one machine leads", func() bool { return s.done() >= 2 && s.leads() != "" })
				f.happens(s)
				s.settled()
				count := func(state string) int64 { // the slots that were due while the machines worked
					return s.number("SELECT coalesce(sum(count), 0) FROM ingest.slots WHERE due_at >= %d AND state IN (%s)", began.Unix(), state)
				}
				skipped, all := count("'skipped', 'missed'"), count("'done', 'skipped', 'missed', 'stopped', 'failed'")
				s.want(skipped <= f.skipped, "%d slots were skipped, and %d may be", skipped, f.skipped)
				s.judge(fmt.Sprintf("postgres, three machines: %s, run %d: %d of %d slots skipped (bound %d)", f.name, run+1, skipped, all, f.skipped))
			})
		}
	}
}

// freeze stops a machine in the middle of a pass, and continues it when another has taken its slots over.
func (s *scale) freeze(name string) {
	s.Helper()
	m := s.machines[name]
	holds := func() bool {
		return s.number("SELECT count(*) FROM ingest.slots WHERE state = 'claimed' AND owner LIKE '%%/%d/%%'", m.cmd.Process.Pid) > 0
	}
	s.wait(name+" is in the middle of a pass", holds)
	_ = m.cmd.Process.Signal(syscall.SIGSTOP)
	for began := time.Now(); holds(); time.Sleep(time.Second) { // the test waits for real machines
		if time.Since(began) > 5*waitAtMost {
			s.Fatalf("nobody takes over what %s holds, which is frozen", name)
		}
	}
	_ = m.cmd.Process.Signal(syscall.SIGCONT)
	s.inDoubt++
}
