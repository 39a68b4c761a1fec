//go:build unix

package main_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/faulty"
)

// inTheMiddle is a loss with another fault at every step of the recovery: between any two scripts, when the second has
// been asked or the first executed. A second process of the data directory continues meanwhile.
func inTheMiddle(name string, happens func(s *site)) fault {
	return fault{"emptied, and on the way back " + name, func(t *testing.T) *rig {
		t.Helper()
		r := newRig(t, 1)
		s := r.sites[0]
		other := &site{rig: r, dir: s.dir, url: "redis://" + r.redis.Addr(), proxy: r.proxy}
		other.open()
		t.Cleanup(other.stop)
		s.spend(cheap, 20)
		other.spend(cheap, 20)
		var busy sync.Mutex // while something happens
		for _, moment := range []faulty.Moment{faulty.Asked, faulty.Executed} {
			for step := int64(1); step <= 6; step++ {
				busy.Lock()
				r.redis.Must("FLUSHALL")
				busy.Unlock()
				var passed atomic.Int64
				r.proxy.Watch(func(m faulty.Moment) {
					if m == moment && passed.Add(1) == step {
						busy.Lock()
						defer busy.Unlock()
						happens(s)
					}
				})
				s.patient(cheap, 2)
				r.proxy.Watch(nil)
				other.patient(cheap, 1)
				if step%3 == 0 {
					s.crashAndOpen()
				}
			}
		}
		s.recover()
		s.exhaust()
		return r
	}}
}

// patient makes the given number of calls, waiting for the breaker when necessary.
func (s *site) patient(method string, n int) {
	var sum spree
	for end := time.Now().Add(waitAtMost); sum.made() < n && sum.refused == 0 && time.Now().Before(end); {
		if s.call(method, &sum) != nil {
			time.Sleep(20 * time.Millisecond)
		}
	}
	s.want(sum.made() == n || sum.refused > 0, "it does not come through: %+v", sum)
}

func middleFaults() []fault {
	return []fault{
		inTheMiddle("emptied again", func(s *site) { s.redis.Must("FLUSHALL") }),
		inTheMiddle("the log evicted", func(s *site) { s.redis.Must("DEL", "ingest:{default}:units") }),
		inTheMiddle("the scripts flushed", func(s *site) { s.redis.Must("SCRIPT", "FLUSH") }),
		inTheMiddle("killed, and back empty", func(s *site) { s.redis.Kill(); s.redis.Restart() }),
		inTheMiddle("the connection cut", func(s *site) { s.proxy.Cut() }),
		inTheMiddle("emptied by a process that does not know", func(s *site) {
			s.redis.Must("DEL", "ingest:{default}", "ingest:{default}:units", "ingest:{default}:search")
			s.proxy.Lose(1, faulty.Closed)
		}),
	}
}
