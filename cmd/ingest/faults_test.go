//go:build unix

package main_test

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/faulty"
)

// fault is something that happens to the ledger while calls are drawn from it. It ends with the ledger back and nothing
// left to spend.
type fault struct {
	name string
	run  func(t *testing.T) *rig
}

// one is a fault for a single data directory: it happens between calls before and after.
func one(name string, happens func(s *site), settings ...string) fault {
	return fault{name, func(t *testing.T) *rig {
		t.Helper()
		r := newRig(t, 1, settings...)
		s := r.sites[0]
		s.spend(cheap, 40)
		happens(s)
		s.recover()
		s.exhaust()
		return r
	}}
}

// outage checks calls while the ledger cannot answer: no expensive one goes on, cheap ones as far as the emergency
// budget.
func (s *site) outage() {
	shut := s.spend(expensive, 2)
	s.want(shut.closed == 2, "of two expensive calls in an outage: %+v", shut)
	open := s.spend(cheap, 2*faultEmergency)
	s.want(open.allowed == 0 && open.refused == 0 && open.closed >= faultEmergency, "of %d cheap calls in an outage: %+v", 2*faultEmergency, open)
}

// trouble makes calls that may or may not succeed.
func (s *site) trouble() {
	s.spend(cheap, 3)
	s.spend(expensive, 1)
	s.spend(cheap, 3)
}

func singleFaults() []fault {
	return []fault{
		one("refused", func(s *site) { s.proxy.Refuse(); s.outage(); s.pass() }),
		one("hung, and resumed", func(s *site) { s.redis.Freeze(); s.outage(); s.redis.Thaw() }),
		one("hung, its processes killed, and resumed", func(s *site) {
			s.redis.Freeze()
			s.spend(cheap, 2)
			s.crashAndOpen()
			s.spend(cheap, 2)
			s.redis.Thaw()
		}),
		one("network hangs, and passes on late what it held", func(s *site) { s.proxy.Hang(); s.outage(); s.pass() }),
		one("replies 1 s late", func(s *site) { s.proxy.Delay(time.Second); s.trouble(); s.pass() }),
		one("scripts flushed", func(s *site) { s.redis.Must("SCRIPT", "FLUSH") }),
		one("emptied (FLUSHALL)", func(s *site) { s.redis.Must("FLUSHALL") }),
		one("emptied, and nobody looks before it died", func(s *site) { s.redis.Must("FLUSHALL"); s.crashAndOpen() }),
		one("the log evicted", func(s *site) { s.redis.Must("DEL", "ingest:{default}:units") }),
		one("the state evicted", func(s *site) { s.redis.Must("DEL", "ingest:{default}") }),
		one("killed, and back empty", func(s *site) { s.redis.Kill(); s.trouble(); s.redis.Restart() }),
		one("killed, and back empty in no time", func(s *site) { s.redis.Kill(); s.redis.Restart() }),
		one("killed, and back with the RDB of 3 s ago", func(s *site) {
			s.redis.Save()
			for range 20 {
				s.spend(cheap, 2)
				time.Sleep(150 * time.Millisecond)
			}
			s.redis.Kill()
			s.redis.Restart()
		}),
		one("killed, and back with all (AOF)", func(s *site) { s.redis.Kill(); s.trouble(); s.redis.Restart() }, "--appendonly", "yes"),
		one("back from an RDB without a restart", func(s *site) {
			s.redis.Save()
			s.spend(cheap, 20)
			s.redis.Must("DEBUG", "RELOAD", "NOSAVE")
		}, "--enable-debug-command", "yes"),
		one("read-only replica, and a master again", func(s *site) {
			s.redis.Must("REPLICAOF", "127.0.0.1", "1")
			s.outage()
			s.redis.Must("REPLICAOF", "NO", "ONE")
		}),
		one("full (maxmemory), and room again", func(s *site) {
			s.redis.Must("CONFIG", "SET", "maxmemory", "1")
			s.outage()
			s.redis.Must("CONFIG", "SET", "maxmemory", "0")
		}),
		one("a value of another type for the log", func(s *site) {
			s.redis.Must("DEL", "ingest:{default}:units")
			s.redis.Must("SET", "ingest:{default}:units", "x")
			s.outage()
			s.redis.Must("DEL", "ingest:{default}:units")
		}),
		one("a value of another type for the state", func(s *site) {
			s.redis.Must("DEL", "ingest:{default}")
			s.redis.Must("SET", "ingest:{default}", "x")
			s.outage()
			s.redis.Must("DEL", "ingest:{default}")
		}),
		one("this machine's clock +1 h, and back", func(s *site) { s.clock(time.Hour) }),
		one("this machine's clock -1 h, and back", func(s *site) { s.clock(-time.Hour) }),
		one("this machine's clock +25 h, and back", func(s *site) { s.clock(25 * time.Hour) }),
		flapping(time.Second),
		one("emptied, then refused, then emptied again", func(s *site) {
			s.redis.Must("FLUSHALL")
			s.spend(cheap, 3)
			s.proxy.Refuse()
			s.trouble()
			s.redis.Must("FLUSHALL")
			s.pass()
		}),
		one("an outage, then killed and back empty before it is synced", func(s *site) {
			s.proxy.Refuse()
			s.outage()
			s.redis.Kill()
			s.redis.Restart()
			s.pass()
		}),
		lostSyncReply(one, 1), lostSyncReply(one, 2), lostSyncReply(one, 3), lostSyncReply(one, 4),
		one("emptied while replies are lost", func(s *site) {
			s.proxy.Lose(6, faulty.Closed)
			s.redis.Must("FLUSHALL")
			s.trouble()
		}),
	}
}

// lostSyncReply is an outage after which one of the first replies is lost: to the probe, to the ledger's knowledge,
// or to its posts.
func lostSyncReply(one func(string, func(*site), ...string) fault, reply int) fault {
	return one(fmt.Sprintf("synced after an outage, and reply %d is lost", reply), func(s *site) {
		s.proxy.Refuse()
		s.outage()
		s.pass()
		s.proxy.LoseAfter(reply-1, 1, faulty.Closed)
	})
}

func (s *site) pass() { s.want(s.proxy.Pass() == nil, "the proxy lost its port") }

// clock moves this machine's clock, and sets it right again.
func (s *site) clock(by time.Duration) {
	s.skew.Store(int64(by))
	s.outage()
	s.skew.Store(0)
}

// lostReplies returns faults that lose replies after execution: with plenty left, and with exactly the call's cost.
// The calls succeed anyway, and are charged once.
func lostReplies(prefix string, begin func(*testing.T, int, ...string) *rig) []fault {
	var all []fault
	for how, name := range map[faulty.Loss]string{faulty.Closed: "closed", faulty.Torn: "reset in the middle", faulty.Swallowed: "swallowed"} {
		for n := 1; n <= 3; n++ {
			if how == faulty.Swallowed && n > 1 {
				continue // one time-out is all that a call waits for
			}
			for _, exactly := range []bool{false, true} {
				left := "plenty left"
				if exactly {
					left = "exactly enough left"
				}
				all = append(all, fault{fmt.Sprintf("%sreply lost %d x (%s), %s", prefix, n, name, left), func(t *testing.T) *rig {
					t.Helper()
					r := begin(t, 1)
					s := r.sites[0]
					s.spend(cheap, 45)
					s.spend(expensive, 1)
					r.proxy.Lose(n, how)
					if exactly {
						sum := s.spend(expensive, 1)
						r.want(sum.refused == 0, "a call with just enough left: %+v", sum)
						r.proxy.Lose(0, how)
					} else {
						s.patient(cheap, 20)
					}
					s.recover()
					s.exhaust()
					return r
				}})
			}
		}
	}
	slices.SortFunc(all, func(a, b fault) int { return strings.Compare(a.name, b.name) })
	return all
}

// failover is a master that dies with a replica that lags by the given amount.
func failover(lag time.Duration) fault {
	return fault{fmt.Sprintf("Sentinel failover, replica behind by %v", lag), func(t *testing.T) *rig {
		t.Helper()
		r := bareRig(t, 1, faultLimit)
		r.redis = faulty.Redis(t)
		r.proxy = faulty.Before(t, r.redis.Addr())
		host, port, _ := net.SplitHostPort(r.proxy.Addr())
		replica := faulty.Redis(t, "--replicaof", host+" "+port)
		replica.Await("master_link_status:up", "INFO", "replication")
		sentinel := faulty.Sentinel(t, "mymaster", r.proxy.Addr(), 500*time.Millisecond)
		sentinel.Await(",slaves=1,", "INFO", "sentinel")
		r.url = fmt.Sprintf("redis+sentinel://%s?master_name=mymaster", sentinel.Addr())
		r.openSites()
		s := r.sites[0]
		s.spend(cheap, 40)
		r.proxy.Lag(lag)
		for range 20 {
			s.spend(cheap, 2)
			time.Sleep(lag / 10)
		}
		r.redis.Kill()
		r.proxy.Refuse()
		s.trouble()
		replica.Await("role:master", "INFO", "replication")
		s.recover()
		s.exhaust()
		return r
	}}
}

// backToTheOldMaster is a failover, and another back to the first master, which knows all scripts and lacks the last
// data: the spends of another process of this data directory, which has ended since.
func backToTheOldMaster(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, 1)
	s, first, second := r.sites[0], r.redis, faulty.Redis(t)
	s.spend(cheap, 20)
	second.Must("REPLICAOF", "127.0.0.1", fmt.Sprint(first.Port))
	second.Await("master_link_status:up", "INFO", "replication")
	first.Kill()
	second.Must("REPLICAOF", "NO", "ONE")
	r.proxy.Lead(second.Addr())
	s.recover()
	s.spend(cheap, 20)
	first.Restart()
	first.Must("REPLICAOF", "127.0.0.1", fmt.Sprint(second.Port))
	first.Await("master_link_status:up", "INFO", "replication")
	// Back, in good order, and there again: now both have been the master of this account.
	first.Must("REPLICAOF", "NO", "ONE")
	r.proxy.Lead(first.Addr())
	s.recover()
	s.spend(cheap, 20)
	second.Must("REPLICAOF", "127.0.0.1", fmt.Sprint(first.Port))
	second.Await("master_link_status:up", "INFO", "replication")
	s.spend(cheap, 1)
	second.Await(first.Must("LLEN", "ingest:{default}:units"), "LLEN", "ingest:{default}:units")
	second.Must("REPLICAOF", "127.0.0.1", "1") // cut off
	other := &site{rig: r, dir: s.dir, proxy: r.proxy, url: r.url}
	other.open()
	other.spend(cheap, 30)
	other.stop()
	first.Kill()
	second.Must("REPLICAOF", "NO", "ONE")
	r.proxy.Lead(second.Addr())
	s.exhaust()
	return r
}

// rolledBackInPlace is a master that becomes a replica of an older copy, and then a master again: it keeps its scripts,
// and one of two hosts has written nothing since the copy was made.
func rolledBackInPlace(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, 2)
	a, b := r.sites[0], r.sites[1]
	older := faulty.Redis(t, "--replicaof", fmt.Sprintf("127.0.0.1 %d", r.redis.Port))
	older.Await("master_link_status:up", "INFO", "replication")
	a.spend(cheap, 1)
	b.spend(cheap, 1)
	a.recover()
	a.spend(cheap, 40)
	older.Await(r.redis.Must("LLEN", "ingest:{default}:units"), "LLEN", "ingest:{default}:units")
	older.Must("REPLICAOF", "NO", "ONE")
	b.spend(cheap, 150)
	b.stop() // and only a is left to notice
	r.redis.Must("REPLICAOF", "127.0.0.1", fmt.Sprint(older.Port))
	r.redis.Await("master_link_status:up", "INFO", "replication")
	r.redis.Must("REPLICAOF", "NO", "ONE")
	a.wantClosedUntilSynced()
	b.open()
	b.recover()
	a.recover()
	a.exhaust()
	b.exhaust()
	return r
}

func twoHosts() []fault {
	both := func(name string, happens func(a, b *site)) fault { return onBoth(name, newRig, happens) }
	return []fault{
		both("two hosts, back empty", func(a, b *site) {
			a.redis.Kill()
			a.redis.Restart()
			a.wantClosedUntilSynced()
		}),
		both("two hosts, back empty, one away and back later", func(a, b *site) {
			b.stop()
			a.redis.Kill()
			a.redis.Restart()
			a.wantClosedUntilSynced()
			a.recover()
			a.exhaust()
			b.open()
		}),
		both("two hosts, back empty, one away which crashed", func(a, b *site) {
			b.crash()
			a.redis.Kill()
			a.redis.Restart()
			a.recover()
			a.exhaust()
			b.open()
		}),
		both("two hosts, one cannot reach it while it comes back empty", func(a, b *site) {
			a.redis.Must("FLUSHALL")
			a.spend(cheap, 2)
			a.redis.Must("FLUSHALL")
			b.spend(cheap, 2)
			a.redis.Must("FLUSHALL")
		}),
		both("two hosts, back empty, one had not seen what the other spent", func(a, b *site) {
			b.spend(expensive, 1)
			a.redis.Must("FLUSHALL")
			for early := (spree{}); early.closed == 0 && early.refused == 0; {
				_ = a.call(cheap, &early) // as much as there is, before b looks
			}
		}),
		{"two hosts, one has not heard of a generation whose log is evicted", func(t *testing.T) *rig {
			t.Helper()
			r := newRig(t, 2)
			a, b := r.sites[0], r.sites[1]
			b.proxy = faulty.Before(t, r.redis.Addr())
			b.url = "redis://" + b.proxy.Addr()
			b.crashAndOpen()
			a.recover()
			b.recover()
			a.spend(cheap, 40)
			b.spend(cheap, 40) // b has seen a's spends
			b.proxy.Refuse()
			r.redis.Must("FLUSHALL")
			a.recover() // after the time to settle
			r.redis.Must("DEL", "ingest:{default}:units")
			a.stop()
			b.pass()
			b.recover()
			b.exhaust()
			a.open()
			return r
		}},
		{"two hosts, rolled back in place, one wrote nothing since", rolledBackInPlace},
		both("two hosts, scripts flushed", func(a, b *site) { a.redis.Must("SCRIPT", "FLUSH") }),
		both("two hosts, back with an old RDB", func(a, b *site) {
			a.redis.Save()
			a.spend(cheap, 20)
			b.spend(cheap, 20)
			a.redis.Kill()
			a.redis.Restart()
		}),
		both("two hosts in an outage", func(a, b *site) {
			a.proxy.Refuse()
			x, y := a.spend(cheap, faultEmergency), b.spend(cheap, faultEmergency)
			a.want(x.degraded+y.degraded <= faultEmergency, "together %d calls went on in an outage: %d may", x.degraded+y.degraded, faultEmergency)
			a.pass()
		}),
	}
}

// onBoth is a fault for two data directories that share a ledger: it happens between calls of both before and after.
func onBoth(name string, begin func(*testing.T, int, ...string) *rig, happens func(a, b *site)) fault {
	return fault{name, func(t *testing.T) *rig {
		t.Helper()
		r := begin(t, 2)
		a, b := r.sites[0], r.sites[1]
		r.spendOnBoth()
		happens(a, b)
		a.recover()
		b.recover()
		a.exhaust()
		b.exhaust()
		return r
	}}
}

func allFaults() []fault {
	return slices.Concat(singleFaults(), lostReplies("", newRig), twoHosts(), journalFaults(), middleFaults(),
		[]fault{{"failover, and another back to the old master", backToTheOldMaster}, failover(0), failover(300 * time.Millisecond), failover(time.Second)})
}

// flapping refuses and passes in turn for a little over three periods.
func flapping(period time.Duration) fault {
	return one(fmt.Sprintf("flapping every %v", period), func(s *site) {
		stop := s.proxy.Flap(period)
		for end := time.Now().Add(period * 16 / 5); time.Now().Before(end); time.Sleep(period / 40) {
			s.spend(cheap, 1)
		}
		s.want(stop() == nil, "the proxy lost its port")
	})
}

// A fault that lasts longer than the breaker waits at most.
func TestLongFaultFlapping(t *testing.T) {
	t.Parallel()
	runFaults(t, []fault{flapping(10 * time.Second)})
}

// oneOfEach are the faults that make test runs, one of each kind; make test-long runs the others.
var oneOfEach = []string{
	"hung, and resumed", "killed, and back empty", "back from an RDB without a restart", "the log evicted",
	"synced after an outage, and reply 2 is lost", "reply lost 1 x (closed), exactly enough left", "two hosts, back empty",
	"the journal deleted while it is open", "emptied, and on the way back the connection cut",
	"Sentinel failover, replica behind by 300ms",

	"postgres: hung, and resumed", "postgres: killed in a take that was committed", "postgres: back on an older copy of its data",
	"postgres: the account deleted", "postgres: its disk full, and room again", "postgres: somebody holds its tables",
	"postgres: reply lost 1 x (closed), exactly enough left", "postgres: killed in the COMMIT of what is synced, after",
	"postgres: two hosts, an older copy: the gate is closed", "postgres: replica promoted, behind by 1s, hosts: 1",
}

// theseOf returns those faults that oneOfEach names, which are ten, or the others.
func theseOf(t *testing.T, all []fault, named bool) []fault {
	t.Helper()
	these := slices.DeleteFunc(all, func(f fault) bool { return slices.Contains(oneOfEach, f.name) != named })
	if named && len(these) != 10 {
		t.Fatalf("oneOfEach names %d of these faults, and not ten: was one renamed?", len(these))
	}
	return these
}

// TestFaultOfEachKind runs a fault of each kind of a ledger in Redis. make faults shows its lines, and the other faults'
// lines.
func TestFaultOfEachKind(t *testing.T) {
	t.Parallel()
	runFaults(t, theseOf(t, allFaults(), true))
}

func TestLongFaults(t *testing.T) {
	t.Parallel()
	runFaults(t, theseOf(t, allFaults(), false))
}

// atOnce is how many faults run side by side: most of them wait most of the time.
const atOnce = 12

// runFaults runs and judges each fault, several side by side under any -parallel.
func runFaults(t *testing.T, faults []fault) {
	t.Helper()
	var all sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, f := range faults {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			t.Run(f.name, func(t *testing.T) {
				r := f.run(t)
				t.Log(r.judge(f.name))
				if len(r.wrong) > 0 {
					t.Fail()
				}
			})
		})
	}
	all.Wait()
}
