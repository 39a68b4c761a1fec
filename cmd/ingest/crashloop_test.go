//go:build unix

package main_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/faulty"
)

// Environment variables: crashSeed repeats a crash loop, and crashKills is how often the leader of a fleet on a
// PostgreSQL is killed.
const (
	crashSeed  = "CRASHLOOP_SEED"
	crashKills = "CRASHLOOP_KILLS"
)

// Three processes, a tick per second for four jobs, and at least 22 times kill -9: single processes, the whole fleet
// for seconds, and one that is suspended with a call in flight and continues when others have taken over its slots. No
// tick is lost and none is committed twice.
func TestCrashLoop(t *testing.T) {
	seed := fromEnv(t, crashSeed, uint64(time.Now().UnixNano()))
	rng := rand.New(rand.NewPCG(seed, 0))
	t.Parallel()
	o := ticks{Dir: t.TempDir(), From: time.Now().Unix() + 1, Ticks: 44, Jobs: 4}
	j := newJudge(t, o)
	f := newFleet(t, o, judgedEnv+"=1")

	end := time.Unix(o.From+int64(o.Ticks)+1, 0)
	outages := []time.Time{end.Add(-36 * time.Second), end.Add(-12 * time.Second)}
	suspend := end.Add(-29 * time.Second)
	kills, suspended := 0, 0
	for time.Now().Before(end) || kills < 22 {
		switch {
		case len(outages) > 0 && time.Now().After(outages[0]):
			outages = outages[1:]
			for len(f.members) > 0 {
				f.kill(0)
				kills++
			}
			time.Sleep(3*time.Second + time.Duration(rng.IntN(1000))*time.Millisecond)
			f.fill(3)
		case suspended == 0 && time.Now().After(suspend):
			f.suspend(0, j)
			suspended++
		default:
			f.kill(rng.IntN(len(f.members)))
			kills++
			time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
			f.fill(3)
			time.Sleep(time.Duration(300+rng.IntN(1500)) * time.Millisecond)
		}
	}
	j.settled()
	f.stop()
	t.Logf("seed %d (%s=%d repeats it): %d processes, %d of them killed with kill -9, 2 outages of the whole fleet, %d suspended past its lease",
		seed, crashSeed, seed, f.started, kills, suspended)
	t.Logf("late writes refused by the fence: %d", f.refused())
	j.judge()
}

// Three machines on one PostgreSQL, whose leader is killed with kill -9 repeatedly (CRASHLOOP_KILLS times), now and
// then another one; once all of them, for seconds, and one suspended past its lease. A killed leader's lease is ended
// at once, to save a wait of a quarter of a minute each time.
func TestCrashLoopOnPostgres(t *testing.T) {
	t.Parallel()
	d := faulty.Postgres(t, "max_connections=200")
	kills := int(fromEnv(t, crashKills, 4))
	seed := fromEnv(t, crashSeed, uint64(time.Now().UnixNano()))
	rng := rand.New(rand.NewPCG(seed, 0))
	o := ticks{Dir: t.TempDir(), Place: d.URL(), From: time.Now().Unix() + 1, Ticks: max(30, kills*7/2), Jobs: 1}
	j := newJudge(t, o)
	f := newFleet(t, o)
	leaders, others, outages := 0, 0, 0
	for leaders < kills {
		if leaders%100 == 0 { // early: there must be ticks left, however slow the machine is
			f.suspend(0, j)
		}
		f.killLeader(j)
		leaders++
		if leaders%4 == 1 {
			f.kill(rng.IntN(len(f.members)))
			others++
		}
		if leaders%50 == 2 {
			for len(f.members) > 0 {
				f.kill(0)
				others++
			}
			outages++
			time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
		}
		f.fill(3)
		time.Sleep(time.Duration(rng.IntN(1000)) * time.Millisecond)
	}
	j.settled()
	f.stop()
	t.Logf("PostgreSQL, seed %d (%s=%d repeats it): %d processes; kill -9: the leader %d times, others %d times; %d outages of all",
		seed, crashSeed, seed, f.started, leaders, others, outages)
	t.Logf("late writes refused by the fence: %d", f.refused())
	j.judge()
}

// fromEnv returns a number from the environment.
func fromEnv(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// killLeader waits until one of the fleet leads, and kills it.
func (f *fleet) killLeader(j *judge) {
	f.t.Helper()
	j.waitUntil("there is a queue", func() bool { return j.number("SELECT count(to_regclass('river_leader'))") == 1 })
	i, of := -1, ""
	j.waitUntil("one of the fleet leads", func() bool {
		i = slices.IndexFunc(f.members, func(m *member) bool {
			of = fmt.Sprintf(" FROM river_leader WHERE leader_id LIKE '%%/%d/%%'", m.cmd.Process.Pid)
			return j.number("SELECT count(*)"+of) > 0
		})
		time.Sleep(50 * time.Millisecond)
		return i >= 0
	})
	f.kill(i)
	if _, err := j.d.ExecContext(f.t.Context(), "DELETE"+of); err != nil {
		f.t.Fatal(err)
	}
}
