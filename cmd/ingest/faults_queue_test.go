//go:build unix

package main_test

import "testing"

// TestLongFaultQueue breaks the queue of three machines on one PostgreSQL: the truth is in our tables, so nothing is
// lost with the queue, and nothing is done twice.
func TestLongFaultQueue(t *testing.T) {
	t.Parallel()
	for _, f := range []struct {
		name    string
		happens func(s *scale)
	}{
		{"river_job emptied in the middle", func(s *scale) { s.pg.Must(s, "DELETE FROM river_job") }},
		{"every job doubled", func(s *scale) {
			s.pg.Must(s, "INSERT INTO river_job (kind, args, queue, max_attempts, state) SELECT kind, args, queue, max_attempts, 'available' FROM river_job WHERE state IN ('available', 'running')")
		}},
		{"the leader killed", func(s *scale) { s.kill(s.leads()); s.inDoubt++ }},
		{"River's tables of a newer version", func(s *scale) {
			s.pg.Must(s, "INSERT INTO river_migration (line, version) VALUES ('main', 99)")
			s.start("d")
		}},
	} {
		t.Run(f.name, func(t *testing.T) {
			s := newScale(t)
			s.start("a", "b", "c")
			s.wait("two charts are done and one machine leads", func() bool { return s.done() >= 2 && s.leads() != "" })
			f.happens(s)
			s.settled()
			s.judge("postgres, three machines: " + f.name)
		})
	}
}
