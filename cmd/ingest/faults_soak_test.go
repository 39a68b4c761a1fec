//go:build unix

package main_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/faulty"
)

// soakEnv is how long storms last; without it there are a few.
const soakEnv = "SOAK"

// TestFaultStorms overlaps faults at random, while processes of one or two data directories spend as fast as they can.
// make soak does so for as long as requested.
func TestFaultStorms(t *testing.T) {
	t.Parallel()
	first, until := uint64(time.Now().UnixNano()), time.Now()
	storms := fewer(4, 2)
	if text := os.Getenv(soakEnv); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("%s=%q is no duration such as 10m", soakEnv, text)
		}
		until, storms = until.Add(d), 0
	}
	if text := os.Getenv("SEED"); text != "" {
		if _, err := fmt.Sscan(text, &first); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	var next atomic.Int64
	for range 4 {
		all.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(storms) && !time.Now().Before(until) {
					return
				}
				seed := first + uint64(i)
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					r := storm(t, seed)
					t.Log(r.judge(fmt.Sprintf("storm, %d hosts, seed %d", r.hosts, seed)))
					if len(r.wrong) > 0 {
						t.Errorf("what happened, in order: %s, want none", strings.Join(r.gusts, ", "))
					}
				})
			}
		})
	}
	all.Wait()
}

const (
	stormLimit = 3000
	stormFor   = 6 * time.Second
)

// storm runs the faults of a seed over traffic.
func storm(t *testing.T, seed uint64) *rig {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 2))
	r := bareRig(t, 1+int(seed%2), stormLimit)
	r.settle = time.Minute // no host is away for so long
	// Replies are lost all the time, and one host cannot know that another has synced a row twice: here it only
	// matters that nothing is forgotten.
	r.more = 1 << 40
	r.redis = faulty.Redis(t, "--appendonly", []string{"yes", "no"}[random.IntN(2)])
	for range r.hosts {
		dir := t.TempDir()
		for range 2 { // processes of one data directory
			p := faulty.Before(t, r.redis.Addr())
			s := &site{rig: r, dir: dir, proxy: p, url: "redis://" + p.Addr()}
			s.open()
			r.sites = append(r.sites, s)
			t.Cleanup(s.stop)
		}
	}
	var begin sync.WaitGroup
	for _, s := range r.sites {
		begin.Go(func() { s.recover() })
	}
	begin.Wait()
	var traffic sync.WaitGroup
	var over atomic.Bool
	for i, s := range r.sites {
		dice := rand.New(rand.NewPCG(seed, uint64(10+i)))
		traffic.Go(func() {
			for n := 0; !over.Load(); n++ {
				method := cheap
				if dice.IntN(40) == 0 {
					method = expensive
				}
				s.spend(method, 1)
				if dice.IntN(150) == 0 {
					s.crashAndOpen()
				}
				time.Sleep(time.Duration(dice.IntN(8)) * time.Millisecond)
			}
		})
	}
	for end := time.Now().Add(stormFor); time.Now().Before(end); {
		r.gust(random)
		time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
	}
	over.Store(true)
	traffic.Wait()
	for _, s := range r.sites {
		s.pass()
	}
	var back sync.WaitGroup
	for _, s := range r.sites { // they wait for each other
		back.Go(func() { s.recover() })
	}
	back.Wait()
	for _, s := range r.sites {
		s.exhaust()
	}
	return r
}

// gust is one fault.
func (r *rig) gust(random *rand.Rand) {
	s := r.sites[random.IntN(len(r.sites))]
	while := time.Duration(50+random.IntN(700)) * time.Millisecond
	how := []faulty.Loss{faulty.Closed, faulty.Swallowed, faulty.Torn}[random.IntN(3)]
	wait := func() { time.Sleep(while) }
	gusts := []struct {
		name    string
		happens func()
	}{
		{"refused", func() { s.proxy.Refuse(); wait(); s.pass() }},
		{"hangs", func() { s.proxy.Hang(); wait(); s.pass() }},
		{"cut", s.proxy.Cut},
		{"replies lost", func() { s.proxy.LoseAfter(random.IntN(4), 1+random.IntN(4), how) }},
		{"replies lost", func() { s.proxy.LoseAfter(random.IntN(4), 1+random.IntN(4), how) }}, // twice as often
		{"slow", func() { s.proxy.Delay(while); wait(); s.pass() }},
		{"frozen", func() { r.redis.Freeze(); wait(); r.redis.Thaw() }},
		{"scripts flushed", func() { r.redis.Must("SCRIPT", "FLUSH") }},
		{"emptied", func() { r.redis.Must("FLUSHALL") }},
		{"log evicted", func() { r.redis.Must("DEL", "ingest:{default}:units") }},
		{"state evicted", func() { r.redis.Must("DEL", "ingest:{default}") }},
		{"saved", func() { r.redis.Save() }},
		{"killed and back", func() { r.redis.Kill(); time.Sleep(while / 4); r.redis.Restart() }},
		{"read-only", func() { r.redis.Must("REPLICAOF", "127.0.0.1", "1"); wait(); r.redis.Must("REPLICAOF", "NO", "ONE") }},
	}
	gust := gusts[random.IntN(len(gusts))]
	r.gusts = append(r.gusts, time.Now().Format("05.000 ")+gust.name)
	gust.happens()
}
