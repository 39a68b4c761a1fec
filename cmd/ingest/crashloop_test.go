//go:build unix

package main_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// crashSeed, in the environment, repeats a crash loop.
const crashSeed = "CRASHLOOP_SEED"

// Three processes, a tick a second for four jobs, and at least 22 of kill -9: single processes, the whole
// fleet for seconds, and one that is suspended with a call in flight and goes on when others have taken its
// slots over. No tick is lost and none is committed twice.
func TestCrashLoop(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv(crashSeed); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	o := ticks{Dir: t.TempDir(), From: time.Now().Unix() + 1, Ticks: 44, Jobs: 4}
	j := newJudge(t, o)
	f := newFleet(t, o)

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
	j.waitUntil("every slot has ended", func() bool { return j.count("state IN ('due', 'claimed')") == 0 })
	f.stop()
	t.Logf("seed %d (%s=%d repeats it): %d processes, %d of them killed with kill -9, 2 outages of the whole fleet, %d suspended past its lease",
		seed, crashSeed, seed, f.started, kills, suspended)
	t.Logf("late writes refused by the fence: %d", f.refused())
	j.judge()
}

// Two runs at the same instant share the work: nothing is fetched twice, and both are content.
func TestTwoRunsAtTheSameInstantFetchEachSlotOnce(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 5, Latency: 20 * time.Millisecond})
	at(t, "2026-02-14T09:40:00Z")
	var runs []*exec.Cmd
	for range 2 {
		cmd := exec.Command(self(t), "run", "--json")
		cmd.Stdout, cmd.Stderr = &bytes.Buffer{}, os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, cmd)
	}
	var regions []string
	for _, cmd := range runs {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		var doc runDocument
		if err := json.Unmarshal(cmd.Stdout.(*bytes.Buffer).Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		for _, r := range doc.Regions {
			regions = append(regions, r.Region)
		}
	}
	slices.Sort(regions)
	if len(regions) != 8 || len(slices.Compact(regions)) != 8 {
		t.Errorf("the two runs fetched %v", regions)
	}
	sameCount(t, sim)
	if n := sim.Ledger().Units["units"]; n != 32 {
		t.Errorf("%d pages were fetched in all, want 32", n)
	}
}
