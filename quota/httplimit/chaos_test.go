package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/quota/httplimit"
	"github.com/trendvidstream/ingest/quota/redisledger"
)

// admission is a request that was served: it was decided between its begin and its end.
type admission struct{ began, ended time.Time }

// surely returns the most admissions that were decided within one window for sure.
func surely(all []admission, window time.Duration) (most int) {
	slices.SortFunc(all, func(a, b admission) int { return a.began.Compare(b.began) })
	for i, first := range all {
		n := 0
		for _, a := range all[i:] {
			if a.began.Sub(first.began) >= window {
				break
			}
			if a.ended.Sub(first.began) < window {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// Two limiters on one Redis are asked as fast as they answer, while the server dies, freezes, is full, and comes back: no
// client gets more in a window than the policy says, and once all is well each gets its limit again. The default takes
// three quarters of a minute; SOAK=30m is half an hour. Where a restart takes a window, a server that forgets shows
// nothing.
func TestLongARedisThatDiesAndReturnsAdmitsNoMoreThanItsPolicy(t *testing.T) {
	const limit, window, clients = 20, 2 * time.Second, 4
	lasts := 45 * time.Second
	if soak, err := time.ParseDuration(os.Getenv("SOAK")); err == nil {
		lasts = soak
	}
	policies := []struct {
		name      string
		aof       string
		emergency float64
		bound     int
	}{{"nothing goes on without it", "yes", -1, limit}, {"half a limit in each process", "yes", 0.5, 2 * limit}, {"it forgets when it restarts", "no", -1, 2 * limit}}
	for _, policy := range policies {
		t.Run(policy.name, func(t *testing.T) {
			server := faulty.Redis(t, "--appendonly", policy.aof, "--appendfsync", "always")
			var handlers []http.Handler
			var limiters []*httplimit.Limiter
			for range 2 {
				ledger, err := redisledger.Open(t.Context(), "redis://"+server.Addr(), redisledger.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = ledger.Close() }()
				l, err := httplimit.New(httplimit.Config{Ledger: ledger, Limits: []httplimit.Limit{{Quota: limit, Window: window}}, Failure: httplimit.Failure{Emergency: policy.emergency}})
				if err != nil {
					t.Fatal(err)
				}
				limiters = append(limiters, l)
				handlers = append(handlers, l.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
			}
			var mu sync.Mutex
			admitted := make([][]admission, clients)
			healthy := make([]int, clients) // admitted since the last fault was mended
			stop := make(chan struct{})
			var all sync.WaitGroup
			for i := range 2 * clients {
				all.Go(func() {
					r := httptest.NewRequest(http.MethodGet, "/", nil)
					r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", i/2)
					for {
						select {
						case <-stop:
							return
						case <-time.After(2 * time.Millisecond):
						}
						began, w := time.Now(), httptest.NewRecorder()
						if handlers[i%2].ServeHTTP(w, r); w.Code == http.StatusOK {
							mu.Lock()
							admitted[i/2] = append(admitted[i/2], admission{began, time.Now()})
							healthy[i/2]++
							mu.Unlock()
						}
					}
				})
			}
			faults := []struct{ begin, end func() }{
				{server.Kill, server.Restart},
				{server.Freeze, server.Thaw},
				{func() { server.Must("CONFIG", "SET", "maxmemory", "1") }, func() { server.Must("CONFIG", "SET", "maxmemory", "0") }},
			}
			most, faulted := 0, 0
			for began := time.Now(); time.Since(began) < lasts/time.Duration(len(policies)); faulted++ {
				time.Sleep(window / 8)
				faults[faulted%3].begin()
				time.Sleep(window / 6)
				faults[faulted%3].end()
				mu.Lock()
				clear(healthy)
				mu.Unlock()
				for waits := time.Now(); ; time.Sleep(10 * time.Millisecond) { // a window that is too short for a slow machine is not an error
					mu.Lock()
					least := slices.Min(healthy)
					mu.Unlock()
					if least >= limit {
						break
					}
					if time.Since(waits) > time.Minute {
						t.Fatalf("a minute after fault %d a client got %d of %d, want at most %v", faulted, least, limit, time.Minute)
					}
				}
				mu.Lock()
				for i := range admitted {
					most = max(most, surely(admitted[i], window))
					if len(admitted[i]) > 10*limit {
						admitted[i] = slices.Clone(admitted[i][len(admitted[i])-5*limit:])
					}
				}
				mu.Unlock()
			}
			close(stop)
			all.Wait()
			stats := limiters[0].Stats()
			t.Logf("%d faults: at most %d within %v, limit %d, policy's bound %d; %+v", faulted, most, window, limit, policy.bound, stats)
			if most > policy.bound || stats.FailedClosed == 0 || policy.emergency > 0 && stats.FailedOpen == 0 || policy.emergency > 0 && most <= limit {
				t.Errorf("at most %d within %v, want up to %d, and more than %d only by the policy: %+v", most, window, policy.bound, limit, stats)
			}
		})
	}
}
